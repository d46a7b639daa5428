"""`pilotage capacity`: how many copies of some pods fit, and what stops the next one."""

import click

from pilotage.cli.command import BadInput, PlainCommand
from pilotage.cli.what_if_flags import Question, asks_what_if

EPILOG = """\b
Examples:
  pilotage capacity -f train.yaml
  pilotage capacity -f train.yaml --add-nodes 2 --like gpu-1 --cordon n3

\b
Exit code: 0 if a copy fits, 3 if none does, 2 if there is no answer.
"""


@click.command("capacity", cls=PlainCommand, epilog=EPILOG)
@asks_what_if()
def command(question: Question) -> None:
    """Show how many copies of the manifests fit, now and with each change, and what stops the next one.

    No pod is evicted for them, and at most 10,000 pods are tried. Nothing is changed.
    """
    from pilotage.cli.what_if_asking import Wanted, ask  # the engine takes a third of a second to import
    from pilotage.cli.what_if_manifests import manifests_of
    from pilotage.cli.what_if_table import capacity_text

    new = manifests_of(question)
    if not new:
        raise BadInput("no pods are named; use -f FILE with a Pod, a Deployment, a Job or the like")
    ask(question, Wanted(["fill", "others"], new), capacity_text)
