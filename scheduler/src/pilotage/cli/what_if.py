"""`pilotage what-if`: what would happen if pods or nodes came or went, or policy changed."""

from typing import Any

import click

from pilotage.cli.command import BadInput, PlainCommand
from pilotage.cli.what_if_asking import request_of, tell
from pilotage.cli.what_if_flags import (
    CLUSTER,
    MANIFESTS,
    NODE_CHANGES,
    manifests_in,
    node_changes,
    profile_of,
    where_of,
    with_options,
)
from pilotage.cli.what_if_table import what_if_text

EPILOG = """\b
Examples:
  pilotage what-if -f train.yaml --copies 4 --add-nodes 2 --like gpu-1
  pilotage what-if -f web.yaml --profile batch
  pilotage what-if --remove-nodes pool=old
  pilotage what-if -f request.yaml -o json

\b
Exit code: 0 if all pods fit, 3 if some or none do, 2 if the question cannot be answered.
"""
OTHER_ASKS = ("fill", "remedies")


@click.command("what-if", cls=PlainCommand, epilog=EPILOG)
@with_options(
    MANIFESTS,
    [
        click.option("--copies", type=int, metavar="N", help="So many copies of the manifests."),
        click.option("--no-others", is_flag=True, help="Leave out the pods that wait already."),
        click.option("--ask", multiple=True, type=click.Choice(OTHER_ASKS), help="What else to answer."),
    ],
    NODE_CHANGES,
    CLUSTER,
)
def command(files: tuple[str, ...], copies: int | None, ask: tuple[str, ...], output: str, **given: Any) -> None:
    """Tell what would happen if pods or nodes came or went, or policy changed; nothing is changed.

    New pods, and those that lose their place, are decided as the scheduler would, with gangs, quotas, preemption and
    disruption budgets, in a copy of the cluster in memory.
    """
    where = where_of(given)
    manifests = manifests_in(files, where.namespace)
    base = _base(manifests)
    new = [each for each in manifests if each is not base]
    changes = list(node_changes(given))
    if new:
        changes.append({"add": {"manifests": new, **({} if copies is None else {"copies": copies})}})
    elif copies is not None:
        raise BadInput("--copies N multiplies the manifests of -f FILE; name one")
    if not changes and not base:
        raise BadInput("say what would change: new pods by -f FILE, or nodes, such as --drain NODE; see --help")
    asks = ["placements", "evictions", *([] if given["no_others"] else ["others"]), *ask]
    wanted = None if base.get("ask") and not ask and not given["no_others"] else asks
    request = request_of(base, changes, profile=profile_of(given["profile"]), ask=wanted)
    others = [each for each in request.changes if each.add is None and each.add_pods is None]
    tell(where, request, output, lambda answer: what_if_text(answer, _head(others)))


def _base(manifests: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the request among manifests, which flags and other manifests add to."""
    found = [each for each in manifests if each.get("kind") == "WhatIf"]
    if len(found) > 1:
        raise BadInput(f"there are {len(found)} requests of kind WhatIf in the files; ask one at a time")
    return found[0] if found else {}


def _head(others: list[Any]) -> str:
    """Return the title of the column with all changes."""
    from pilotage.offline.what_if.run import title

    return title(others[0]) if len(others) == 1 and others[0].use_profile is None else "THEN" if others else ""
