"""The rule about room: a pod arrives only where all pods together fit."""

from collections.abc import Iterator
from dataclasses import dataclass

from auditor.nodes import Nodes
from auditor.occupancy import Occupancy, shortages
from auditor.pod import Pod
from auditor.rules import Violation, violation


@dataclass(frozen=True, slots=True)
class Doubt:
    """An arrival that did not fit the node as known then; `wanted` is the total request of all pods there."""

    pod: Pod
    at: float
    wanted: dict[str, int]
    binder: str


class Arrivals:
    """Judges arrivals; nodes come by another stream than pods, so a doubt is settled with a fresh list of nodes."""

    def __init__(self, occupancy: Occupancy, nodes: Nodes, grace: float) -> None:
        self._occupancy = occupancy
        self._nodes = nodes
        self._grace = grace
        self._doubts: list[Doubt] = []

    def judge(self, pod: Pod, now: float, binder: str) -> Iterator[Violation]:
        """Judge a pod that was placed on its node, and remember it if the verdict depends on the node's state."""
        if not pod.holds:
            return
        held = self._occupancy.held(pod.node)
        wanted = {name: held.total[name] for name, _ in pod.demand} | {"pods": len(held.pods)}
        doubt = Doubt(pod, now, wanted, binder)
        if port := held.taken_by_others(pod):
            yield violation("overcommit", now, pod, f"host port {port} is used twice", binder=binder)
        elif not self._is_cleared(doubt):
            self._doubts.append(doubt)

    def settle(self, nodes_as_of: float, final: bool = False) -> Iterator[Violation]:
        """Decide the doubts for which the nodes are known as they were a grace after the arrival."""
        undecided = []
        for doubt in self._doubts:
            if self._is_cleared(doubt):
                continue
            elif final or nodes_as_of > doubt.at + self._grace:
                yield self._verdict(doubt)
            else:
                undecided.append(doubt)
        self._doubts = undecided

    def needs_nodes(self, now: float) -> bool:
        """Return whether a doubt is ripe and only a fresh list of nodes is missing."""
        return any(now > doubt.at + self._grace for doubt in self._doubts)

    def _is_cleared(self, doubt: Doubt) -> bool:
        versions = self._nodes.versions(doubt.pod.node, since=doubt.at - self._grace)
        return any(not shortages(node, doubt.wanted) for node in versions)

    def _verdict(self, doubt: Doubt) -> Violation:
        versions = self._nodes.versions(doubt.pod.node, since=doubt.at - self._grace)
        if not versions:
            text = f"there is no node {doubt.pod.node}"
            return violation("unknown-node", doubt.at, doubt.pod, text, binder=doubt.binder)
        text = ", ".join(shortages(versions[0], doubt.wanted))
        return violation("overcommit", doubt.at, doubt.pod, text, binder=doubt.binder)
