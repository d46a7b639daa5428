"""Asks plugins what would make them accept the pod; a plugin without an answer is quoted."""

import logging
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.nodes import Nodes
from pilotage.framework.api.plugin import Filter, Plugin
from pilotage.framework.api.remedies import Difference, Remedy
from pilotage.framework.api.verdicts import Rejection

log = logging.getLogger(__name__)

MOST = 6  # offers of one plugin that are considered
LONGEST = 200  # characters of a reason


def offers(plugin: Plugin, cycle: Cycle, nodes: Nodes) -> list[Remedy]:
    """Return what a plugin offers for nodes that it alone rejects; one that fails offers nothing."""
    if type(plugin).remedies is Plugin.remedies:
        return []
    try:
        found = list(islice(plugin.remedies(cycle, cycle.pod, nodes), MOST))
        return [replace(each, plugin=plugin.name, verified=False) for each in found]
    except Exception:
        log.exception("%s failed in remedies", plugin.name)
        return []


def generic(plugin: Plugin, cycle: Cycle, nodes: Nodes) -> Iterator[Remedy]:
    """Yield the remedy that there is for every plugin: that it accepts the pod, with the reason why it does not."""
    if not isinstance(plugin, Filter) or not len(nodes):
        return
    try:
        rejection = plugin.filter(cycle, cycle.pod, nodes[0])
    except Exception:
        log.exception("%s failed in filter", plugin.name)
        return
    if isinstance(rejection, Rejection):
        yield agreement(plugin.name, rejection)


def agreement(plugin: str, rejection: Rejection) -> Remedy:
    """Return the remedy for a rejection about which only the reason is known."""
    return Remedy(
        code="satisfyPlugin",
        actor="admin",
        words="resolve what {plugin} reports: {reason}",
        values={"plugin": plugin, "reason": rejection.message[:LONGEST]},
        difference=Difference(agreeing=frozenset({plugin})),
        plugin=plugin,
    )
