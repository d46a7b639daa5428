"""Checks the chosen node again right before the bind."""

from collections import Counter
from typing import Literal, NamedTuple

from pilotage.cache.cluster_cache import ClusterCache
from pilotage.framework.api.nodes import NodeInfo
from pilotage.framework.api.plugin import NODE, STATIC
from pilotage.model.node import Node
from pilotage.model.pod import Pod
from pilotage.scheduling.outcome import Placed

Result = Literal["", "unchanged", "fits", "full", "held"]
NOT_ASKED: Result = ""  # for a profile without the guard


class Choice(NamedTuple):
    """A node as it was when a pod was placed there."""

    placed: Placed
    info: NodeInfo
    node: Node
    changes: int  # the number of changes of its pods until then, including this one


class BindCheck:
    """Checks whether a decision is out of date: why a pod can no longer use its node."""

    def __init__(self, cache: ClusterCache) -> None:
        self._cache = cache
        self._holds, self._active = cache.holds, cache.holds.active
        self.in_progress: dict[str, Choice] = {}  # by uid of the pod
        self.results: Counter[str] = Counter()

    def begin(self, placed: Placed) -> Choice:
        """Remember the current state of the node."""
        info = self._cache.find_node(placed.node)
        assert info is not None
        choice = self.in_progress[placed.pod.uid] = Choice(placed, info, info.node, info.changes)
        return choice

    def still_fits(self, pod: Pod, node: str) -> bool:
        """Return whether a bind may still be sent."""
        choice = self.in_progress.get(pod.uid)
        if choice is None or choice.placed.node != node:
            return True
        result, why = self._look(choice)
        if why and result:
            self.results[result] += 1  # a check without findings has been counted already
        return not why

    def objection(self, choice: Choice) -> str:
        """Return why the pod must not be bound to its node any more, or ""."""
        result, why = self._look(choice)
        if result:
            self.results[result] += 1
        return why

    def _look(self, choice: Choice) -> tuple[Result, str]:
        """Return the result of the check, and the objection."""
        placed, info, result = choice.placed, choice.info, NOT_ASKED
        if info.slot < 0 or info.node.uid != choice.node.uid:
            return NOT_ASKED, f'node "{placed.node}" was deleted before the pod could be bound to it'
        if placed.engine.guard:
            if self._active and self._holds.is_closed_to(placed.node, placed.pod):
                return "held", f'node "{placed.node}" has rejected pods since it was chosen'
            if info.changes != choice.changes and (shortage := _others_took(placed, info)):
                return "full", f'node "{placed.node}" has changed: {shortage}'
            result = "unchanged" if info.changes == choice.changes else "fits"
        if info.node is choice.node or info.node.has_same_facts(choice.node):
            return result, ""
        return result, _changed(placed, info)


def _others_took(placed: Placed, info: NodeInfo) -> str:
    """Return what other pods have taken since; only filters of the profile can object."""
    if not _is_short(placed.pod, info):
        return ""
    without = info.clone()
    if placed.pod.uid in without.pods:
        without.remove_pod(placed.pod)
    runner = placed.engine.runner
    for plugin in runner.plugin_set.filter:
        if plugin.depends_on is NODE and (rejection := runner.filter_node(plugin, placed.cycle, without)) is not None:
            return rejection.message
    return ""


def _is_short(pod: Pod, info: NodeInfo) -> bool:
    """Return whether a node is overcommitted with the pod on it."""
    if len(info.pods) > info.node.allowed_pods or any(info.free(resource) < 0 for resource in pod.requests):
        return True
    return any(_is_shared(port[1:], info) for port in pod.shape.host_ports)


def _is_shared(port: tuple[str, int], info: NodeInfo) -> bool:
    """Return whether several pods use the same host port, possibly on different addresses."""
    return sum(count for used, count in info.used_ports.items() if used[1:] == port) > 1


def _changed(placed: Placed, info: NodeInfo) -> str:
    """Return the objection to a node whose object has changed."""
    for plugin in placed.engine.runner.plugin_set.filter:
        if plugin.depends_on is not STATIC:
            continue
        rejection = placed.engine.runner.filter_node(plugin, placed.cycle, info)
        if rejection is not None:
            return f'node "{placed.node}" has changed: {rejection.message}'
    if len(info.pods) > info.node.allowed_pods:
        return f'node "{placed.node}" has changed: Too many pods'
    for resource in placed.pod.requests:
        if info.free(resource) < 0:
            return f'node "{placed.node}" has changed: Insufficient {resource}'
    return ""
