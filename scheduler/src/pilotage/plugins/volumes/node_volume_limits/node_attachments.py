"""The attached volumes and limits of nodes, exactly for one node and as columns for all."""

from collections import Counter
from operator import attrgetter

from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.node_facts import NodeColumn, NodeFacts
from pilotage.framework.api.nodes import Ints, NodeInfo
from pilotage.framework.api.objects import Objects
from pilotage.kinds.storage import CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass, VolumeAttachment
from pilotage.model.limits import MOST_VOLUMES
from pilotage.model.pod import PodShape
from pilotage.plugins.volumes._shared.csi_nodes import CSINodeColumns
from pilotage.plugins.volumes.node_volume_limits.attachable_volumes import (
    ATTACHABLE,
    Attachable,
    attachable_sources,
    attachments,
    sources,
    volumes_of_placed,
)

# Markers among numbers of volumes, each too large to be reached by adding to the one before.
UNLIMITED = 1 << 39  # of this driver, while the node has other limits
UNCERTAIN = 1 << 40  # the pods of the node must be checked individually: one of them may be invalid
NO_LIMITS = 1 << 41  # regardless of the node's pods

ByNode = dict[str, list[VolumeAttachment]]
_node_of = attrgetter("spec.node_name")


class Attached:
    """The volumes attached to a node: those of its pods by name, and the totals by driver."""

    def __init__(self, objects: Objects, node: NodeInfo, others: list[VolumeAttachment]) -> None:
        # A pod with too many volumes would be expensive to iterate each time: its node counts as full.
        self.is_full = any(len(attachable_sources(pod)) > MOST_VOLUMES for pod in node.pods.values())
        self.volumes = {} if self.is_full else volumes_of_placed(node.pods.values(), objects)
        self.counts = Counter(self.volumes.values())
        # An attached volume that no pod uses counts, and counts again if the new pod uses it.
        self.counts.update(driver for name, driver in attachments(objects, others).items() if name not in self.volumes)

    def leaves_room(self, new: Attachable, limits: dict[str, int]) -> bool:
        """Return whether the new volumes can be attached as well."""
        if self.is_full:
            return limits.keys().isdisjoint(new.values())
        wanted: dict[str, int] = {}
        for name, driver in new.items():
            if driver in limits and name not in self.volumes:
                wanted[driver] = wanted.get(driver, 0) + 1
        return all(self.counts[driver] + number <= limits[driver] for driver, number in wanted.items())


class NodeAttachments:
    """Attached volumes and limits of all nodes; columns are by slot, and updated incrementally."""

    def __init__(self) -> None:
        self._csi_nodes = CSINodeColumns()
        self._claims = NodeColumn()
        self._attachments = NodeColumn()
        self._attached: NodeFacts[Attached] = NodeFacts()
        self._counted: tuple[Objects, int, Counter[str]] | None = None
        self._by_node: tuple[Objects, int, ByNode] | None = None

    def has_csi_node(self, cycle: Cycle) -> Ints:
        """Return 1 for nodes with a CSINode."""
        return self._csi_nodes.column(cycle, ("present",), lambda _: 1)

    def installed(self, cycle: Cycle, driver: str) -> Ints:
        """Return 1 for nodes where a driver runs."""
        return self._csi_nodes.column(cycle, ("driver", driver), lambda csi_node: int(csi_node.has_driver(driver)))

    def limits(self, cycle: Cycle, driver: str) -> Ints:
        """Return the maximum number of a driver's volumes on each node."""
        return self._csi_nodes.column(cycle, ("limit", driver), lambda csi_node: _limit(csi_node, driver), NO_LIMITS)

    def at_most(self, cycle: Cycle) -> Ints:
        """Return an upper bound of the volumes on each node, without reading claims; UNCERTAIN if they are needed."""
        column = self._claims.read(cycle.nodes, _at_most)
        version = cycle.objects.version(VolumeAttachment)
        if not version:
            return column
        objects = cycle.objects
        if self._counted is None or self._counted[0] is not objects or self._counted[1] != version:
            self._counted = objects, version, Counter(map(_node_of, objects.all(VolumeAttachment)))
        counts = self._counted[2]
        return column + self._attachments.read(cycle.nodes, lambda node: counts.get(node.node.name, 0), version)

    def on(self, node: NodeInfo, objects: Objects) -> Attached:
        """Return the volumes attached to a node, possibly of a what-if."""
        return Attached(objects, node, self._attachments_by_node(objects).get(node.name, []))

    def catch_up(self, cycle: Cycle) -> None:
        """Forget outdated data about single nodes."""
        kinds = PersistentVolumeClaim, PersistentVolume, StorageClass, VolumeAttachment
        self._attached.catch_up(cycle.nodes, cycle.objects.version(*kinds))

    def on_real(self, node: NodeInfo, objects: Objects) -> Attached:
        """Return the volumes attached to a node of the cluster, cached; call `catch_up` first."""
        return self._attached.of(node, lambda node: self.on(node, objects))

    def _attachments_by_node(self, objects: Objects) -> ByNode:
        version = objects.version(VolumeAttachment)
        known = self._by_node
        if known is None or known[0] is not objects or known[1] != version:
            by_node: ByNode = {}
            for attachment in objects.all(VolumeAttachment):
                by_node.setdefault(attachment.spec.node_name, []).append(attachment)
            known = self._by_node = objects, version, by_node
        return known[2]


def _limit(csi_node: CSINode, driver: str) -> int:
    limits = csi_node.limits
    return limits.get(driver, UNLIMITED) if limits else NO_LIMITS


def _at_most(node: NodeInfo) -> int:
    total = 0
    for pod in node.pods.values():
        number: int = pod.shape.remember("attachable volumes at most", _at_most_of) if pod.spec.volumes else 0
        if number == UNCERTAIN:
            return UNCERTAIN
        total += number
    return total


def _at_most_of(shape: PodShape) -> int:
    total = 0
    for volume in shape.remember(ATTACHABLE, sources):
        source = volume.persistent_volume_claim
        if source is None or not source.claim_name:
            return UNCERTAIN  # a foreign ephemeral claim or an invalid inline disk is an error
        total += 1
    return total
