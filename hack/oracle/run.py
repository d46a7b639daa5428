"""The command line."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from localcluster.errors import Problem
from localcluster.interrupts import interruptible
from localcluster.progress import Step as Progress
from localcluster.progress import say
from oracle.coverage import Coverage
from oracle.decision import Decision
from oracle.generate import SUBJECTS, scenario, seeds_of
from oracle.judge import Finding, Judge, Witness
from oracle.ours import Ours
from oracle.real import RealScheduler
from oracle.scenario import Scenario

SAME, DIFFERENT, UNABLE = 0, 1, 2
HELP = """Compare the decisions of the real kube-scheduler and of Pilotage on generated scenarios.

Exit code 0: no difference. 1: a difference. 2: it could not run.

\b
Example:
  python -m oracle --seeds 400
  python -m oracle --seeds 50 --subject PodTopologySpread --keep-going
  python -m oracle --seeds 400 --only-record --record decisions.jsonl
"""


@click.command(help=HELP)
@click.option("--seeds", default=400, show_default=True, help="The number of scenarios.")
@click.option("--start", default=0, show_default=True, help="The first seed.")
@click.option("--subject", type=click.Choice(list(SUBJECTS)), help="Only scenarios of this subject.")
@click.option("--keep-going", is_flag=True, help="Continue after a difference.")
@click.option("--shrink-seconds", default=60.0, show_default=True, help="How long to shrink a scenario.")
@click.option(
    "--record",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write all decisions of kube-scheduler to this file.",
)
@click.option("--only-record", is_flag=True, help="Do not run our engine.")
def main(
    seeds: int,
    start: int,
    subject: str | None,
    keep_going: bool,
    shrink_seconds: float,
    record: Path | None,
    only_record: bool,
) -> None:
    """Run and exit with the verdict."""
    chosen = seeds_of(subject, seeds, start) if subject else list(range(start, start + seeds))
    coverage = Coverage()
    try:
        with interruptible(), RealScheduler() as real, _recording(record) as write:
            ours = None if only_record else Ours(real.configuration)

            def witness(seen: Scenario, decision: Decision) -> None:
                coverage.see(seen, decision)
                write(seen, decision)

            found = _search(Judge(real, ours, witness), chosen, keep_going, shrink_seconds)
    except Problem as problem:
        say(str(problem))
        sys.exit(UNABLE)
    click.echo(coverage.report())
    for finding in found:
        click.echo(f"\n{finding.story()}")
    sys.exit(DIFFERENT if found else SAME)


def _search(judge: Judge, seeds: list[int], keep_going: bool, shrink_seconds: float) -> list[Finding]:
    found: list[Finding] = []
    with Progress("comparing with kube-scheduler") as progress:
        for done, seed in enumerate(seeds):
            progress.update(done, len(seeds), "scenarios")
            if first := judge.first_difference(scenario(seed)):
                found.append(judge.smallest(first, shrink_seconds))
                if not keep_going:
                    break
    return found


@contextmanager
def _recording(path: Path | None) -> Iterator[Witness]:
    if path is None:
        yield lambda _scenario, _decision: None
        return
    with path.open("w") as file:
        yield lambda seen, decision: print(
            json.dumps({"seed": seen.seed, "subject": seen.subject} | json.loads(decision.to_json())), file=file
        )
