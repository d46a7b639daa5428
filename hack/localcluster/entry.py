"""Where a command line goes: to the real kind, or to the verbs of our own."""

import os
import subprocess
import sys
from collections.abc import Sequence
from itertools import pairwise

import click

from localcluster import real_kind
from localcluster.binaries import wanted_kubernetes
from localcluster.cli import main
from localcluster.errors import Problem

# What the real kind can do with a cluster that is its own.
VERBS_OF_ONE = {"delete cluster", "get nodes", "get kubeconfig", "load docker-image", "load image-archive",
                "export logs", "export kubeconfig"}  # fmt: skip


def goes_to_the_real_kind(words: Sequence[str]) -> bool:
    """Whether the real kind answers these words."""
    verb = " ".join(words[:2])
    if verb == "create cluster":
        own = any(word.split("=", 1)[0] in ("--shape", "--help", "-h") for word in words)
        return not own and real_kind.makes_nodes(words, wanted_kubernetes())
    return verb in VERBS_OF_ONE and real_kind.has(_cluster_of(words))


def _cluster_of(words: Sequence[str]) -> str:
    """The cluster that the words name; kind and we spell it alike."""
    for word, following in pairwise([*words, ""]):
        option, _, value = word.partition("=")
        if option in ("--name", "-n"):
            return value or following
    return os.environ.get("KIND_CLUSTER_NAME", "kind")


def entry() -> None:
    """Run the command line."""
    words = sys.argv[1:]
    try:
        if goes_to_the_real_kind(words):
            real_kind.hand_over(words, wanted_kubernetes())
        main(standalone_mode=False, prog_name="hack/kind")
    except click.ClickException as error:
        error.show()
        raise SystemExit(2) from error
    except (KeyboardInterrupt, click.Abort) as error:
        click.echo("interrupted", err=True)
        raise SystemExit(130) from error
    except (Problem, subprocess.CalledProcessError) as error:
        click.echo(f"ERROR: {error}", err=True)
        raise SystemExit(1) from error
