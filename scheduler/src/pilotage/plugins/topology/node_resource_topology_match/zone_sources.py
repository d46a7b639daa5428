"""Sources of zones: as reported, or without nodes to which a pod is being bound."""

from collections.abc import Sequence
from typing import Final, Protocol

from pilotage.framework.api.objects import Objects
from pilotage.kinds.node_resource_topology import NodeResourceTopology
from pilotage.model.pod import Pod
from pilotage.plugins.topology.node_resource_topology_match.zone_columns import STALE, View
from pilotage.plugins.topology.node_resource_topology_match.zones import ZoneTable

FEW: Final = 64  # reports; below this number, those of deleted nodes are kept


class Reports:
    """All reports at the last check for new ones."""

    def __init__(self) -> None:
        self._version = -1
        self._known: list[NodeResourceTopology] = []

    def renewed(self, objects: Objects) -> list[str] | None:
        """Return the nodes with a new report; None if there may be too many."""
        version = objects.version(NodeResourceTopology)
        if version == self._version:
            return []
        before, self._known = self._known, list(objects.all(NodeResourceTopology))
        self._version = version
        if len(before) != len(self._known):
            return None
        # A report that replaces another one keeps its position, so that few differ.
        return [
            name
            for old, new in zip(before, self._known, strict=True)
            if old is not new
            for name in (old.metadata.name, new.metadata.name)
        ]


class ZoneSource(Protocol):
    """The zones of each node."""

    changes: int  # grows when zones may differ without a change of the node or its report
    touched: set[str]  # nodes whose zones changed since the set was last cleared

    def view(self, objects: Objects, node: str) -> View:
        """Return the current zones of a node."""

    def evicted(self, objects: Objects, node: str, victims: Sequence[Pod]) -> View | str:
        """Return the zones of a node without some of its pods, or why they are unknown."""

    def serves(self, scheduler: str) -> None:
        """Record the name of one of our schedulers."""

    def reserve(self, pod: Pod, node: str) -> None:
        """Record a pod that was placed on a node."""

    def unreserve(self, pod: Pod, node: str) -> None:
        """Record a pod that is not placed there after all."""

    def bound(self, pod: Pod, node: str) -> None:
        """Record a pod that was bound."""

    def placed(self, pod: Pod) -> None:
        """Record a pod that counts on its node."""

    def left(self, pod: Pod) -> None:
        """Record a pod that left its node, or is about to be placed again."""

    def came(self, pod: Pod) -> bool:
        """Return whether the zones of a node may differ now that the API server has the pod there."""

    def went(self, pod: Pod) -> bool:
        """Return whether the zones of a node may differ now that the pod has left."""


class ReportedZones:
    """The zones as reported, each report parsed once."""

    def __init__(self) -> None:
        self.changes = 0
        self.touched: set[str] = set()
        self._read: dict[str, tuple[NodeResourceTopology, ZoneTable]] = {}
        self._most = FEW

    def view(self, objects: Objects, node: str) -> View:
        """Return the zones as reported."""
        topology = objects.get(NodeResourceTopology, node)
        if topology is None:
            self._read.pop(node, None)
            return None
        known = self._read.get(node)
        if known is None or known[0] is not topology:
            known = self._read[node] = topology, ZoneTable.of(topology)
            if len(self._read) > self._most:
                self._clear_out(objects)
        return known[1]

    def evicted(self, objects: Objects, node: str, victims: Sequence[Pod]) -> View | str:
        """Return the zones as reported: the pods' usage of each zone is unknown."""
        return self.view(objects, node)

    def serves(self, scheduler: str) -> None:
        """Ignore it."""

    def reserve(self, pod: Pod, node: str) -> None:
        """Ignore it."""

    def unreserve(self, pod: Pod, node: str) -> None:
        """Ignore it."""

    def bound(self, pod: Pod, node: str) -> None:
        """Ignore it."""

    def placed(self, pod: Pod) -> None:
        """Ignore it."""

    def left(self, pod: Pod) -> None:
        """Ignore it."""

    def came(self, pod: Pod) -> bool:
        """Return False: only another report changes the zones."""
        return False

    def went(self, pod: Pod) -> bool:
        """Return False: only another report changes the zones."""
        return False

    def _clear_out(self, objects: Objects) -> None:
        """Forget nodes whose reports were deleted."""
        gone = [node for node in self._read if objects.get(NodeResourceTopology, node) is None]
        for node in gone:
            del self._read[node]
        self._most = FEW + 2 * len(self._read)


class DiscardReserved(ReportedZones):
    """The same, but without zones of nodes to which a pod is being bound."""

    def __init__(self) -> None:
        super().__init__()
        self._coming: dict[str, set[str]] = {}  # pods by node
        self._going_to: dict[str, str] = {}  # the node of each

    def view(self, objects: Objects, node: str) -> View:
        """Return the zones as reported, unless a pod is being bound there."""
        found = super().view(objects, node)
        return STALE if found is not None and node in self._coming else found

    def reserve(self, pod: Pod, node: str) -> None:
        """Distrust reports about the node until the pod is bound."""
        self._release(pod.uid)
        self._coming.setdefault(node, set()).add(pod.uid)
        self._going_to[pod.uid] = node
        self.touched.add(node)

    def unreserve(self, pod: Pod, node: str) -> None:
        """Trust reports again."""
        self._release(pod.uid)

    def bound(self, pod: Pod, node: str) -> None:
        """Trust reports again."""
        self._release(pod.uid)

    def left(self, pod: Pod) -> None:
        """Trust reports again: the pod has left, or the API server has it on the node."""
        self._release(pod.uid)

    def came(self, pod: Pod) -> bool:
        """Do the same as `bound`, since this may come first and no later event would retry pods."""
        self._release(pod.uid)
        return True

    def went(self, pod: Pod) -> bool:
        """Return whether the pod was still being bound."""
        return self._release(pod.uid) or not pod.spec.node_name

    def _release(self, uid: str) -> bool:
        node = self._going_to.pop(uid, None)
        if node is None:
            return False
        self._coming[node].discard(uid)
        if not self._coming[node]:
            del self._coming[node]
        self.touched.add(node)
        self.changes += 1  # the node itself has not changed
        return True
