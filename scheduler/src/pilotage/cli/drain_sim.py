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
Exit code: 0 if all pods find another node, 3 if some do not or a budget blocks, 2 if there is no answer.
"""


@click.command("drain-sim", cls=PlainCommand, epilog=EPILOG)
@click.argument(
    "nodes", nargs=-1, metavar="NODE...", shell_complete=lambda context, _parameter, word: node_names(context, word)
)
@click.option("-l", "--selector", default="", metavar="SELECTOR", help="Nodes with these labels, such as pool=old.")
@asks_what_if(manifests=False)
def command(question: Question, nodes: tuple[str, ...], selector: str) -> None:
    """Show where the pods of nodes would go, which would wait, and which budgets block. Nothing is drained.

    All nodes are cordoned first, as by `kubectl drain`.
    """
    if not nodes and not selector:
        raise click.UsageError("Name a node, or nodes with -l SELECTOR.")
    from pilotage.cli.what_if_asking import Wanted, ask  # the engine takes a third of a second to import
    from pilotage.cli.what_if_table import drain_text

    drained = {"drain": {"nodes": list(nodes), "selector": selector}}
    ask(question, Wanted(["placements", "evictions", "others"], changes=[drained]), drain_text)
