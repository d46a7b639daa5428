"""`pilotage what-if`: what would happen if pods or nodes came or went, or if policies changed."""

import click

from pilotage.cli.command import BadInput, PlainCommand
from pilotage.cli.program import program_name
from pilotage.cli.what_if_flags import MOST, Question, asks_what_if

EPILOG = """\b
Examples:
  pilotage what-if -f train.yaml --copies 4 --add-nodes 2 --like gpu-1
  pilotage what-if -f web.yaml --profile batch
  pilotage what-if --remove-nodes pool=old
  pilotage what-if -f request.yaml -o json

\b
Exit code: 0 if all pods fit, 3 if some or none do, 2 if there is no answer.
"""
OTHER_ASKS = ("fill", "remedies")


@click.command("what-if", cls=PlainCommand, epilog=EPILOG)
@click.option("--copies", type=int, metavar="N", help="The number of copies of the manifests.")
@click.option("--no-others", is_flag=True, help="Ignore pods that are already waiting.")
@click.option(
    "--ask", "more", multiple=True, type=click.Choice(OTHER_ASKS), help="What else to answer. Can be repeated."
)
@asks_what_if()
def command(question: Question, copies: int | None, no_others: bool, more: tuple[str, ...]) -> None:
    """Show what would happen if pods or nodes came or went, or if policies changed. Nothing is changed.

    New pods, and pods that lose their node, are scheduled in a copy of the cluster in memory, with the scheduler's own
    code: gangs, quotas, preemption and disruption budgets apply.
    """
    from pilotage.cli.what_if_asking import Wanted, ask  # the engine takes a third of a second to import
    from pilotage.cli.what_if_manifests import manifests_of
    from pilotage.cli.what_if_table import what_if_text

    written = manifests_of(question)
    requests = [manifest for manifest, _ in written if manifest["kind"] == "WhatIf"]
    if len(requests) > 1:
        raise BadInput(f"the files contain {len(requests)} requests of kind WhatIf; use one at a time")
    new = [each for each in written if each.manifest["kind"] != "WhatIf"]
    if copies is not None and not new:
        raise BadInput("--copies requires manifests; name them with -f FILE")
    if copies is not None and not 1 <= copies <= MOST:
        raise BadInput(
            f"--copies {copies}: use a number from 1 to {MOST}; {program_name()} capacity shows how many fit"
        )
    if not (requests or new or question.changes):
        raise BadInput("nothing would change; add pods with -f FILE, or change nodes, for example with --drain NODE")
    base = requests[0] if requests else {}
    asks = ["placements", "evictions", *([] if no_others else ["others"]), *more]
    own = base.get("ask") and not more and not no_others
    ask(question, Wanted([] if own else asks, new, copies, base=base), what_if_text)
