"""Builds everything that the demo needs before its first command, with one estimate and something to try meanwhile."""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from images.build import Built, build
from images.components import COMPONENTS, DEFAULT_TAG
from images.order import Wishes
from localcluster.binaries import TOOLS, Tool, kubernetes, wanted_kubernetes
from localcluster.build import ensure, is_built
from localcluster.demo_ground import Ground
from localcluster.lifecycle import tools_of
from localcluster.paths import REPOSITORY, cache_dir
from localcluster.progress import Whole, duration

# Seconds on two cores, with Go's caches empty; the pace of this machine corrects them on the way.
SECONDS = {"kubernetes": 600, "etcd": 40, "containerd": 90, "coredns": 90, "helm4": 180, "kwok": 100, "kind": 60}
SECONDS_OF_SOMETHING_SMALL = 5
SECONDS_OF_AN_IMAGE = 70
FILES = ("-f", "examples/cluster.yaml", "-f", "examples/web.yaml")
SHOWN = (("simulate", *FILES), ("simulate", *FILES, "--explain", "report"))
TO_TRY = """
Meanwhile, try the engine on files in another terminal; it needs no cluster and changes nothing:
  .venv/bin/pilotage simulate -f examples/cluster.yaml -f examples/web.yaml --explain web-1
  .venv/bin/pilotage simulate -f examples/cluster.yaml -f examples/web.yaml --explain web-1 --plugin-dir examples/plugins
  .venv/bin/pilotage plugins NodeResourcesFit
"""  # noqa: E501 - to be copied as it is


@dataclass(frozen=True)
class Piece:
    """One thing to build, and about how long it takes on two cores."""

    name: str
    seconds: float
    build: Callable[[], object]


def tools_for(ground: Ground) -> list[Tool]:
    """The programs that the demo runs, and no others."""
    version = wanted_kubernetes()
    if ground == "fake nodes":
        return tools_of("control-plane", version, with_fake_nodes=True)
    nodes = (
        [kubernetes(version), TOOLS["kind"]] if ground == "kind" else tools_of("full", version, with_fake_nodes=False)
    )
    return [*nodes, TOOLS["helm4"]]


def missing(ground: Ground) -> list[Piece]:
    """What was never built by this user."""
    pieces = [_piece(tool) for tool in tools_for(ground) if not is_built(tool)]
    return pieces + ([] if ground == "fake nodes" or _has_images() else [_images()])


def build_all(ground: Ground) -> list[Built]:
    """Build what is missing, visibly; returns the images, none if the demo runs without."""
    pieces = missing(ground)
    if pieces:
        whole = Whole({piece.name: piece.seconds for piece in pieces})
        click.echo(_announcement(pieces, whole.seconds))
        if whole.seconds > 60:
            _show_the_engine()
        for piece in pieces:
            with whole.piece(piece.name):
                piece.build()
    return [] if ground == "fake nodes" else build(list(COMPONENTS), Wishes(DEFAULT_TAG))


def _announcement(pieces: list[Piece], seconds: float) -> str:
    cores = os.cpu_count() or 2
    minutes = f"{max(1, round(seconds / 60))} minutes" if seconds >= 90 else duration(seconds)
    return (
        f"To be built, once: {', '.join(piece.name for piece in pieces)}. That takes about {minutes} on {cores} cores; "
        "if interrupted, the finished parts are kept."
    )


def _show_the_engine() -> None:
    click.echo(TO_TRY, nl=False)
    for words in SHOWN:
        done = run_engine(words)
        click.echo(f"\n$ pilotage {' '.join(words)}\n{done.stdout}{done.stderr}", nl=False)
    click.echo()


def run_engine(words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run the command line of Pilotage in this checkout."""
    program = Path(sys.executable).with_name("pilotage")
    return subprocess.run([program, *words], cwd=REPOSITORY, capture_output=True, text=True, check=False)


def _piece(tool: Tool) -> Piece:
    return Piece(tool.name, SECONDS.get(tool.name, SECONDS_OF_SOMETHING_SMALL), lambda: ensure(tool))


def _images() -> Piece:
    names = list(COMPONENTS)
    seconds = SECONDS_OF_AN_IMAGE * len(names)
    return Piece(f"the images of {' and '.join(names)}", seconds, lambda: build(names, Wishes(DEFAULT_TAG)))


def _has_images() -> bool:
    """Whether images were built before; then what changed since is built in seconds."""
    return any((cache_dir() / "images" / "archives").glob("*.tar"))
