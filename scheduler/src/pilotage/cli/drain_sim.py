"""`pilotage drain-sim`: where the pods of nodes would go if they were drained; nothing is drained."""

import click

from pilotage.cli.candidates import nodes as node_names
from pilotage.cli.command import PlainCommand
from pilotage.cli.what_if_flags import Question, asks_what_if

EPILOG = """\b
Examples:
  pilotage drain-sim n3
  pilotage drain-sim n3 n4 -o json
  pilotage drain-sim -l pool=old

\b
Exit code: 0 if all pods find another place, 3 if some do not or a budget keeps them, 2 if the question cannot be
answered.
"""


@click.command("drain-sim", cls=PlainCommand, epilog=EPILOG)
@click.argument(
    "nodes", nargs=-1, metavar="NODE...", shell_complete=lambda context, _parameter, word: node_names(context, word)
)
@click.option("-l", "--selector", default="", metavar="SELECTOR", help="Nodes by labels, such as pool=old.")
@asks_what_if(manifests=False)
def command(question: Question, nodes: tuple[str, ...], selector: str) -> None:
    """Show where the pods of nodes would go, which would wait, and which budget blocks. Nothing is drained.

    The nodes are drained together, as by `kubectl drain`: none of them takes pods any more.
    """
    if not nodes and not selector:
        raise click.UsageError("Name a node, or nodes by -l SELECTOR.")
    from pilotage.cli.what_if_asking import Wanted, ask  # the engine takes a third of a second to import
    from pilotage.cli.what_if_table import drain_text

    drained = {"drain": {"nodes": list(nodes), "selector": selector}}
    ask(question, Wanted(["placements", "evictions", "others"], changes=[drained]), drain_text)
