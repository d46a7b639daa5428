"""Commands of the demo: run as a person would type them, and shown with what they say."""

import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

import click

from localcluster.binaries import kubernetes, wanted_kubernetes
from localcluster.build import ensure
from localcluster.errors import Problem
from localcluster.paths import HACK, REPOSITORY

NAME = "pilotage-demo"
CONTEXT = f"kind-{NAME}"
OVER = "start over with: make demo-down demo"
WAITS = 3  # how `pilotage explain` ends for a pod that waits


def tool(package: str, *words: str, hidden: bool = False) -> str:
    """Run one of our own tools, which is the real kind where a Docker engine answers; it speaks for itself."""
    environment = os.environ | {"PYTHONPATH": str(HACK)}
    output = subprocess.PIPE if hidden else None
    done = subprocess.run(
        [sys.executable, "-m", package, *words], env=environment, stdout=output, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.returncode)
    return done.stdout or ""


def kubectl(*words: str, stdin: str = "") -> str:
    """Run kubectl on the demo's cluster, unseen."""
    program = ensure(kubernetes(wanted_kubernetes())) / "kubectl"
    command = [str(program), f"--context={CONTEXT}", *words]
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False, cwd=REPOSITORY)
    if done.returncode:
        raise Problem(f"kubectl {' '.join(words)} failed: {done.stderr.strip()}; {OVER}")
    return done.stdout


def show(*words: str) -> None:
    """Run kubectl, and show what was typed and said."""
    click.echo(f"\n$ kubectl {shlex.join(words)}")
    click.echo(kubectl(*words), nl=False)


def explain(pod: str) -> None:
    """Ask Pilotage why a pod waits, and show what was typed and said."""
    program = Path(sys.executable).with_name("pilotage")
    done = subprocess.run(
        [program, "explain", pod, f"--context={CONTEXT}"], capture_output=True, text=True, check=False
    )
    if done.returncode not in (0, WAITS):
        raise Problem(f"pilotage explain {pod} failed: {done.stderr.strip()}; {OVER}")
    click.echo(f"\n$ pilotage explain {pod}\n{done.stdout}", nl=False)


def until(wanted: str, *words: str, seconds: float = 90) -> float:
    """Ask kubectl until it says this; returns how many seconds that took."""
    started = time.monotonic()
    while wanted not in (said := kubectl(*words)):
        if time.monotonic() - started > seconds:
            raise Problem(f"kubectl {' '.join(words)} prints {said.strip()[:300]!r} instead of {wanted!r}; {OVER}")
        time.sleep(0.05)
    return time.monotonic() - started
