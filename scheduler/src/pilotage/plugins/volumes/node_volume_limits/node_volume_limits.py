"""NodeVolumeLimits: limits the number of volumes that CSI drivers attach to a node."""

from collections import Counter
from collections.abc import Iterator

import numpy as np

from pilotage.framework.api.caching import CLUSTER, Caching
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.events import Action, Event, Resource, Retry
from pilotage.framework.api.node_changes import freed, movable
from pilotage.framework.api.nodes import Bools, NodeInfo, Nodes
from pilotage.framework.api.objects import Objects
from pilotage.framework.api.plugin import Filter, PreFilter
from pilotage.framework.api.remedies import Remedy
from pilotage.framework.api.verdicts import SKIP_SHAPE, Filtered, PreFiltered, Rejection, Verdicts
from pilotage.kinds.csi_migration import driver_of
from pilotage.kinds.pod_claims import concerns, named_claims
from pilotage.kinds.storage import (
    CSIDriver,
    CSINode,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from pilotage.model.pod import Pod
from pilotage.plugins.volumes.node_volume_limits.attachable_volumes import (
    Attachable,
    MissingClaim,
    attachable_sources,
    may_attach,
    volumes_of,
)
from pilotage.plugins.volumes.node_volume_limits.node_attachments import NodeAttachments

TOO_MANY = Rejection("node(s) exceed max volume count")

MOST_NODES = 32  # searched for pods with volumes
MOST_PODS = 3  # that a remedy moves

New = Attachable | Rejection


class NodeVolumeLimits(PreFilter, Filter):
    """Keep a pod off nodes where a CSI driver has reached its volume limit or is not installed."""

    caching = Caching(CLUSTER)
    retry_on = (
        Retry(Resource.CSI_NODE, Action.ADD),
        Retry(Resource.CSI_NODE, Action.UPDATE, "limits_changed"),
        Retry(Resource.ASSIGNED_POD, Action.DELETE, "pod_deleted"),
        Retry(Resource.PERSISTENT_VOLUME_CLAIM, Action.ADD, "claim_added"),
        Retry(Resource.VOLUME_ATTACHMENT, Action.DELETE, "volume_detached"),
    )
    reads = (PersistentVolumeClaim, PersistentVolume, StorageClass, CSINode, CSIDriver, VolumeAttachment)

    def __post_init__(self) -> None:
        """Start with empty state."""
        super().__post_init__()
        self._attachments = NodeAttachments()

    def pre_filter(self, cycle: Cycle, pod: Pod) -> PreFiltered:
        """Skip pods without attachable volumes."""
        return None if pod.spec.volumes and may_attach(pod) else SKIP_SHAPE

    def filter(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> Filtered:
        """Reject a node without the driver of a volume, or with too many volumes."""
        objects = cycle.objects
        csi_node = objects.get(CSINode, node.name)
        new = _new_volumes(cycle, pod, on_csi_node=csi_node is not None)
        if isinstance(new, Rejection):
            return new
        for driver in dict.fromkeys(new.values()):
            if _must_be_installed(objects, driver) and not (csi_node and csi_node.has_driver(driver)):
                return _not_installed(driver)
        limits = csi_node.limits if csi_node else {}
        if not new or not limits or self._attachments.on(node, objects).leaves_room(new, limits):
            return None
        return TOO_MANY

    def filter_nodes(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Verdicts:
        """Return the same for many nodes; volumes are evaluated one by one only if the limit may be exceeded."""
        told: Bools = nodes.at(self._attachments.has_csi_node(cycle)) > 0
        if told.all():
            return self._filter(cycle, pod, nodes, on_csi_node=True)
        verdicts = self._filter(cycle, pod, nodes, on_csi_node=False)
        if told.any():
            places = np.flatnonzero(told)
            others = self._filter(cycle, pod, nodes.take(told), on_csi_node=True)
            verdicts.codes[places] = np.where(others.codes, others.codes + len(verdicts.rejections), 0)
            verdicts = Verdicts(verdicts.codes, [*verdicts.rejections, *others.rejections])
        return verdicts

    def _filter(self, cycle: Cycle, pod: Pod, nodes: Nodes, *, on_csi_node: bool) -> Verdicts:
        new = _new_volumes(cycle, pod, on_csi_node=on_csi_node)
        if isinstance(new, Rejection):
            return Verdicts.where(np.ones(len(nodes), np.bool_), new)
        drivers = Counter(new.values())
        needed = [driver for driver in drivers if _must_be_installed(cycle.objects, driver)]
        cases: list[tuple[Bools, Rejection]] = [
            (nodes.at(self._attachments.installed(cycle, driver)) == 0, _not_installed(driver)) for driver in needed
        ]
        if on_csi_node and new:
            cases.append((self._too_many(cycle, new, drivers, nodes, [mask for mask, _ in cases]), TOO_MANY))
        return Verdicts.first_of(*cases) if cases else Verdicts.all_fit(len(nodes))

    def _too_many(
        self, cycle: Cycle, new: Attachable, drivers: Counter[str], nodes: Nodes, rejected: list[Bools]
    ) -> Bools:
        attachments, objects = self._attachments, cycle.objects
        at_most = nodes.at(attachments.at_most(cycle))
        doubtful = np.zeros(len(nodes), np.bool_)
        for driver, number in drivers.items():
            doubtful |= at_most + number > nodes.at(attachments.limits(cycle, driver))
        for mask in rejected:
            doubtful &= ~mask
        places = np.flatnonzero(doubtful).tolist()
        if places:
            attachments.catch_up(cycle)
        for place in places:
            node = nodes[place]
            csi_node = objects.get(CSINode, node.name)
            limits = csi_node.limits if csi_node else {}
            doubtful[place] = not attachments.on_real(node, objects).leaves_room(new, limits)
        return doubtful

    def remedies(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Iterator[Remedy]:
        """Offer to move the fewest pods with volumes off the first node that has some."""
        for place in range(min(MOST_NODES, len(nodes))):
            info = nodes[place]
            with_volumes = [other for other in movable(info) if other.spec.volumes and may_attach(other)]
            if with_volumes:
                yield from (
                    freed(info, with_volumes[: number + 1]) for number in range(min(MOST_PODS, len(with_volumes)))
                )
                return

    def limits_changed(self, pod: Pod, event: Event, old: object, new: object) -> bool:
        """Return whether the limit of a driver on a node was raised."""
        if not isinstance(old, CSINode) or not isinstance(new, CSINode):
            return True
        before = old.limits
        return any(limit > before.get(driver, 0) for driver, limit in new.limits.items())

    def pod_deleted(self, pod: Pod, event: Event, old: object, new: object) -> bool:
        """Return whether the deleted pod had a node, and volumes there."""
        if not isinstance(old, Pod):
            return True
        return bool(old.node_name or old.nominated_node) and may_attach(old)

    def claim_added(self, pod: Pod, event: Event, old: object, new: object) -> bool:
        """Return whether the new claim belongs to the pod."""
        return not isinstance(new, PersistentVolumeClaim) or concerns(new, pod)

    def volume_detached(self, pod: Pod, event: Event, old: object, new: object) -> bool:
        """Return whether the pod has volumes that may be attached instead; ephemeral claims are ignored."""
        if not isinstance(old, VolumeAttachment) or named_claims(pod):
            return True
        return any(driver_of(volume) == old.spec.attacher for volume in attachable_sources(pod))


def _new_volumes(cycle: Cycle, pod: Pod, *, on_csi_node: bool) -> New:
    known: dict[bool, New] = cycle.notes.setdefault(NodeVolumeLimits.name, {})
    if on_csi_node not in known:
        try:
            known[on_csi_node] = volumes_of(pod, cycle.objects, on_csi_node=on_csi_node)
        except MissingClaim as missing:
            known[on_csi_node] = Rejection(str(missing), preemption_helps=False)
    return known[on_csi_node]


def _must_be_installed(objects: Objects, driver: str) -> bool:
    found = objects.get(CSIDriver, driver)
    return found is not None and found.spec.prevent_pod_scheduling_if_missing is True


def _not_installed(driver: str) -> Rejection:
    return Rejection(f"{driver} CSI driver is not installed on the node")
