"""`pilotage drain-sim`: where the pods of nodes would go if they were drained; nothing is drained."""

from typing import Any

import click

from pilotage.cli.command import PlainCommand
from pilotage.cli.what_if_asking import request_of, tell
from pilotage.cli.what_if_flags import CLUSTER, where_of, with_options
from pilotage.cli.what_if_table import what_if_text

EPILOG = """\b
Examples:
  pilotage drain-sim n3
  pilotage drain-sim n3 n4 -o json
  pilotage drain-sim -l pool=old

\b
Exit code: 0 if all pods find another place, 3 if some do not or a budget keeps them, 2 if it cannot be told.
"""


@click.command("drain-sim", cls=PlainCommand, epilog=EPILOG)
@click.argument("nodes", nargs=-1, metavar="NODE...")
@click.option("-l", "--selector", default="", metavar="SELECTOR", help="Nodes by labels, such as pool=old.")
@with_options(CLUSTER)
def command(nodes: tuple[str, ...], selector: str, output: str, **given: Any) -> None:
    """Tell where the pods of nodes would go, who would wait, and which budget blocks; nothing is drained.

    The nodes are drained together, as by `kubectl drain`: none of them takes pods any more.
    """
    where = where_of(given)
    if not nodes and not selector:
        raise click.UsageError("Name a node, or nodes by -l SELECTOR.")
    changes = [{"drain": {"nodes": list(nodes), "selector": selector}}]
    request = request_of({}, changes, ask=["placements", "evictions", "others"])
    tell(where, request, output, lambda answer: what_if_text(answer, ""))
