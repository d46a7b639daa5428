"""The command: tries every hostile shape, and says which of them costs too much."""

import cProfile
import pstats
import sys
from collections.abc import Iterable
from functools import partial
from pathlib import Path

import click

from hostile import report
from hostile.child import measure
from hostile.growing import grow as grown
from hostile.shapes import Shape, all_shapes
from hostile.trial import Limits, Measurement, try_shape

LINES = 25  # of a profile


@click.command()
@click.option("--only", default="", help="Only shapes with this text in their name.")
@click.option("--list", "only_list", is_flag=True, help="List the shapes without running them.")
@click.option("--short", is_flag=True, help="Only the shapes that `make test` runs.")
@click.option("--scale", type=float, default=1.0, show_default=True, help="Multiply the size of every shape.")
@click.option("--grow", type=float, default=0.0, help="For this many seconds, generate new shapes instead.")
@click.option("--profile", is_flag=True, help="Show a CPU profile instead of a verdict.")
@click.option(
    "--repeat", type=int, default=3, show_default=True, help="The most attempts for a shape that costs too much."
)
@click.option("--most-seconds", type=int, default=90, show_default=True, help="Abort a shape after this much CPU time.")
@click.option("--nodes", type=int, default=300, show_default=True, help="The number of nodes.")
@click.option("--seed", type=int, default=0, show_default=True, help="The seed of the random generator.")
@click.option("--save", type=click.Path(path_type=Path), help="Write the measurements to this file.")
@click.option("--compare", type=click.Path(exists=True, path_type=Path), help="Compare with a saved run.")
def main(
    only: str,
    only_list: bool,
    short: bool,
    scale: float,
    grow: float,
    profile: bool,
    repeat: int,
    most_seconds: int,
    nodes: int,
    seed: int,
    save: Path | None,
    compare: Path | None,
) -> None:
    """Run the real scheduler in memory on objects that an API server accepts, and measure their cost for others.

    For each shape: the longest block of the event loop, the longest wait of another tenant's pod while it is read, the
    time of two plain pods without and with it, the memory that it uses and does not free, and the message of its
    pod. Times are CPU time of the scheduler's thread. The exit code is 1 if any shape costs too much.

    \b
    Example:
      python -m hostile --only affinity --save before.json
      python -m hostile --only affinity --compare before.json
      python -m hostile --grow 600 --seed 7
    """
    chosen = [shape for name, shape in all_shapes().items() if only in name and (shape.is_short or not short)]
    limits = Limits(nodes, most_seconds=most_seconds)
    if only_list:
        for shape in chosen:
            click.echo(f"{shape.name:52} {shape.size:>9,}")
    elif profile:
        for shape in chosen:
            _profile(shape, max(int(shape.size * scale), 1), seed, limits)
    else:
        attempt = partial(measure, seed=seed, limits=limits, repetitions=repeat)
        sizes = ((shape, max(int(shape.size * scale), 1)) for shape in chosen)
        trials = grown(grow, seed, attempt) if grow else (attempt(shape, size) for shape, size in sizes)
        _judge(_shown(trials, save), compare)


def _shown(trials: Iterable[Measurement], save: Path | None) -> list[Measurement]:
    click.echo(report.HEAD)
    found = []
    for each in trials:
        found.append(each)
        click.echo(report.row(each))
        if save is not None:
            report.save(save, found)  # each time: a run may be ended
    return found


def _judge(found: list[Measurement], compare: Path | None) -> None:
    if compare is not None:
        click.echo("\n" + report.comparison(report.read(compare), found))
    wrong = [each for each in found if each.faults]
    click.echo(f"\n{len(found)} shapes, {len(wrong)} cost too much")
    sys.exit(1 if wrong else 0)


def _profile(shape: Shape, size: int, seed: int, limits: Limits) -> None:
    calls = cProfile.Profile()
    found = calls.runcall(try_shape, shape, size, seed, limits)
    click.echo(report.row(found))
    pstats.Stats(calls).sort_stats("tottime").print_stats(LINES)
