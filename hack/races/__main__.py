"""Plays two schedulers on the same fake nodes, whose kubelets reject what does not fit, and counts rejections."""

import sys
import tempfile
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path

import click

from kit.control_plane import ControlPlane, control_plane, name_for_this_run
from localcluster.errors import Problem
from races.contest import FIRST, SECOND, Document, Result, Terms, play

NAMESPACE = "races"
STRATEGIES = ("LeastAllocated", "MostAllocated")
OTHERS: Mapping[str, Document] = {
    "kube-scheduler": {"program": "kube-scheduler"},
    "pilotage, guard off": {"program": "pilotage", "sharing": {"guard": False}},
    "pilotage": {"program": "pilotage"},
}
UNABLE = 2


@click.command()
@click.option("--nodes", default=500, show_default=True, help="Fake nodes, of 32 cores each.")
@click.option("--rate", default=50.0, show_default=True, help="Pods per second and scheduler.")
@click.option("--fill", default=0.9, show_default=True, help="The share of the nodes' capacity that the pods request.")
@click.option("--seconds", default=60.0, show_default=True, help="How long to measure, once the nodes are full.")
@click.option("--strategy", type=click.Choice(STRATEGIES), multiple=True, default=STRATEGIES, show_default=True)
@click.option("--other", type=click.Choice(list(OTHERS)), multiple=True, default=list(OTHERS), show_default=True)
def main(
    nodes: int, rate: float, fill: float, seconds: float, strategy: tuple[str, ...], other: tuple[str, ...]
) -> None:
    """Let kube-scheduler and another scheduler fill the same nodes, and print how often kubelets reject their pods."""
    terms = Terms(nodes, rate, fill, seconds)
    say(f"{nodes} nodes, {rate:g} pods/s each, {fill:.0%} full, {seconds:g} s; rejected of the binds of each:")
    say(f"{'strategy':<16}{'second scheduler':<22}{'kube-scheduler':>20}{'second':>20}")
    try:
        with tempfile.TemporaryDirectory() as folder, new_plane(Path(folder)) as plane:
            plane.kubectl("create", "namespace", NAMESPACE)
            plane.kubectl("-n", NAMESPACE, "wait", "--for=create", "serviceaccount/default", "--timeout=30s")
            for one in strategy:
                for name in other:
                    result = play(plane, NAMESPACE, Path(folder), one, OTHERS[name], terms)
                    say(f"{one:<16}{name:<22}{told(result, FIRST):>20}{told(result, SECOND):>20}")
    except Problem as problem:
        click.echo(problem, err=True)
        sys.exit(UNABLE)


def new_plane(folder: Path) -> AbstractContextManager[ControlPlane]:
    """Bring up a control plane that is gone afterwards."""
    return control_plane(f"{name_for_this_run()}-races", folder / "kubeconfig")


def told(result: Result, scheduler: str) -> str:
    """Return a scheduler's rejections for a table."""
    return f"{result.rejected[scheduler]} of {result.binds[scheduler]}, {result.share(scheduler):.1%}"


def say(line: str) -> None:
    """Print a line at once: a contest takes minutes."""
    click.echo(line)
    sys.stdout.flush()


if __name__ == "__main__":
    main()
