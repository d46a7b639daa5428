"""`pilotage capacity`: how many copies of some pods fit, and what stops the next one."""

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
from pilotage.cli.what_if_table import capacity_text

EPILOG = """\b
Examples:
  pilotage capacity -f train.yaml
  pilotage capacity -f train.yaml --add-nodes 2 --like gpu-1 --cordon n3

\b
Exit code: 0 if a copy fits, 3 if none does, 2 if the question cannot be answered.
"""


@click.command("capacity", cls=PlainCommand, epilog=EPILOG)
@with_options(MANIFESTS, NODE_CHANGES, CLUSTER)
def command(files: tuple[str, ...], output: str, **given: Any) -> None:
    """Tell how many copies of the manifests fit, now and with each change, and what stops the next one.

    Nobody is evicted for them, and at most 10,000 pods are tried. Nothing is changed.
    """
    where = where_of(given)
    manifests = manifests_in(files, where.namespace)
    if not manifests:
        raise BadInput("say which pods: -f FILE with a Pod, a Deployment, a Job or the like")
    changes = [*node_changes(given), {"add": {"manifests": manifests}}]
    request = request_of({}, changes, profile=profile_of(given["profile"]), ask=["fill", "others"])
    tell(where, request, output, capacity_text)
