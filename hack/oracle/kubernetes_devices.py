"""Kubernetes' own answers about devices: its expressions and its allocator, as the program hack/go/dra has them."""

import json
import subprocess
from collections.abc import Iterable
from typing import Literal

from localcluster.binaries import TOOLS
from localcluster.build import ensure
from localcluster.errors import Problem
from oracle.scenario import Manifest

SECONDS = 600


def answers(about: Literal["cel", "allocate"], questions: Iterable[Manifest]) -> list[Manifest]:
    """The answers to all questions, in their order."""
    asked = "".join(f"{json.dumps(question)}\n" for question in questions)
    command = [str(ensure(TOOLS["dra"]) / "dra"), about]
    done = subprocess.run(command, input=asked, capture_output=True, text=True, check=False, timeout=SECONDS)
    if done.returncode:
        raise Problem(f"dra {about}: {done.stderr.strip()[-1500:]}")
    return [json.loads(line) for line in done.stdout.splitlines()]
