"""VolumeZone: keeps pods in the zones of their volumes."""

from collections.abc import Iterator, Mapping
from functools import reduce
from operator import or_
from typing import NamedTuple

import numpy as np

from pilotage.framework.api.caching import CLUSTER, Caching
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.events import Action, Event, Resource, Retry
from pilotage.framework.api.node_matching import match_labels
from pilotage.framework.api.nodes import ABSENT, Bools, NodeInfo, Nodes
from pilotage.framework.api.plugin import Filter, PreFilter
from pilotage.framework.api.remedies import Remedy
from pilotage.framework.api.verdicts import SKIP, SKIP_SHAPE, Filtered, PreFiltered, Rejection, Verdicts
from pilotage.kinds.csi_migration import BETA_REGION, BETA_ZONE, REGION, ZONE, ZONE_SEPARATOR
from pilotage.kinds.pod_claims import named_claims, no_claim
from pilotage.kinds.storage import WAIT_FOR_FIRST_CONSUMER, PersistentVolume, PersistentVolumeClaim, StorageClass
from pilotage.model.pod import Pod
from pilotage.model.selectors import LabelMatcher
from pilotage.plugins.volumes._shared.moved_volume import moved_volume, where_it_is
from pilotage.plugins.volumes._shared.unusable_claims import unusable_claims

TOPOLOGY_LABELS = (BETA_ZONE, BETA_REGION, ZONE, REGION)
# A node may have only the newer label; the reverse is not supported, as in kube-scheduler.
SUCCESSORS = {BETA_ZONE: ZONE, BETA_REGION: REGION}
ELSEWHERE = Rejection("node(s) had no available volume zone", preemption_helps=False)


class _Topology(NamedTuple):
    """A label of a volume, and the values that it contains."""

    key: str
    values: frozenset[str]


class VolumeZone(PreFilter, Filter):
    """Keep a pod in the zone and region of its volumes' labels."""

    caching = Caching(CLUSTER)
    retry_on = (
        Retry(Resource.STORAGE_CLASS, Action.ADD, "class_added"),
        Retry(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL),
        Retry(Resource.PERSISTENT_VOLUME_CLAIM, Action.ADD | Action.UPDATE, "claim_changed"),
        Retry(Resource.PERSISTENT_VOLUME, Action.ADD | Action.UPDATE, "volume_changed"),
    )
    reads = (PersistentVolumeClaim, PersistentVolume, StorageClass)

    def pre_filter(self, cycle: Cycle, pod: Pod) -> PreFiltered:
        """Collect the zones of the pod's volumes; skip if they have none."""
        if not pod.spec.volumes:
            return SKIP_SHAPE
        topologies: dict[_Topology, None] = {}
        for name in named_claims(pod):
            volume = _volume_of(cycle, pod, name)
            if isinstance(volume, str):
                return Rejection(volume, preemption_helps=False)
            if volume is not None:
                topologies |= dict.fromkeys(_topologies(volume))
        if not topologies:
            return SKIP
        cycle.notes[self.name] = tuple(topologies)
        return None

    def filter(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> Filtered:
        """Reject a node with zone labels that do not match the volumes."""
        labels = node.labels
        if not any(key in labels for key in TOPOLOGY_LABELS):
            return None  # a cluster with a single zone may have no labels
        return None if all(_is_within(topology, labels) for topology in cycle.notes[self.name]) else ELSEWHERE

    def filter_nodes(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Verdicts:
        """Return the same for many nodes."""
        elsewhere = reduce(or_, (~_within(topology, nodes) for topology in cycle.notes[self.name]))
        if elsewhere.any():
            elsewhere &= reduce(or_, (_has(key, nodes) for key in TOPOLOGY_LABELS))
        return Verdicts.where(elsewhere, ELSEWHERE)

    def remedies(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Iterator[Remedy]:
        """Offer what makes the claims usable, or the data of one of them in the zone of a node."""
        if self.name not in cycle.notes:
            yield from unusable_claims(pod, cycle.objects)
            return
        for claim, volume in self._elsewhere(cycle, pod, nodes[0]):
            yield moved_volume(claim, volume, nodes[0])

    def remark(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> str:
        """Return which volumes are in another zone than the node."""
        return "; ".join(where_it_is(claim, volume) for claim, volume in self._elsewhere(cycle, pod, node))

    def _elsewhere(
        self, cycle: Cycle, pod: Pod, node: NodeInfo
    ) -> Iterator[tuple[PersistentVolumeClaim, PersistentVolume]]:
        """Yield the pod's claims whose volumes are in another zone or region than a node."""
        for name in named_claims(pod):
            claim = cycle.objects.get(PersistentVolumeClaim, name, pod.namespace)
            volume = _volume_of(cycle, pod, name)
            if claim is None or not isinstance(volume, PersistentVolume):
                continue
            if not all(_is_within(topology, node.labels) for topology in _topologies(volume)):
                yield claim, volume

    def class_added(self, pod: Pod, event: Event, old: object, new: object) -> bool:
        """Return whether claims of the new class may wait for their pods."""
        return not isinstance(new, StorageClass) or new.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER

    def claim_changed(self, pod: Pod, event: Event, old: object, new: object) -> bool:
        """Return whether the pod names the claim."""
        if not isinstance(new, PersistentVolumeClaim):
            return True
        return new.metadata.namespace == pod.namespace and new.metadata.name in named_claims(pod)

    def volume_changed(self, pod: Pod, event: Event, old: object, new: object) -> bool:
        """Return whether a volume is new, or its zone has changed."""
        if not isinstance(old, PersistentVolume) or not isinstance(new, PersistentVolume):
            return True
        return _topologies(old) != _topologies(new)


def _volume_of(cycle: Cycle, pod: Pod, name: str) -> PersistentVolume | str | None:
    """Return the volume of a claim, None if the claim still waits for its pod, or the error."""
    if not name:
        return "PersistentVolumeClaim had no name"
    claim = cycle.objects.get(PersistentVolumeClaim, name, pod.namespace)
    if claim is None:
        return no_claim(name)
    if not claim.spec.volume_name:
        return _why_unbound(cycle, claim)
    volume = cycle.objects.get(PersistentVolume, claim.spec.volume_name)
    return volume or f'persistentvolume "{claim.spec.volume_name}" not found'


def _why_unbound(cycle: Cycle, claim: PersistentVolumeClaim) -> str | None:
    class_name = claim.class_name
    if not class_name:
        return "PersistentVolumeClaim had no pv name and storageClass name"
    storage = cycle.objects.get(StorageClass, class_name)
    if storage is None:
        return f'storageclass.storage.k8s.io "{class_name}" not found'
    if storage.volume_binding_mode is None:
        return f'VolumeBindingMode not set for StorageClass "{class_name}"'
    return None if storage.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER else "PersistentVolume had no name"


def _topologies(volume: PersistentVolume) -> list[_Topology]:
    found = []
    for key in TOPOLOGY_LABELS:
        if (value := volume.metadata.labels.get(key)) is not None:
            values = frozenset(each.strip() for each in value.split(ZONE_SEPARATOR))
            if "" not in values:  # invalid labels are ignored
                found.append(_Topology(key, values))
    return found


def _is_within(topology: _Topology, labels: Mapping[str, str]) -> bool:
    key, values = topology
    return labels.get(key, labels.get(SUCCESSORS.get(key, key))) in values


def _within(topology: _Topology, nodes: Nodes) -> Bools:
    values = tuple(topology.values)
    within = match_labels(LabelMatcher(((topology.key, "In", values),)), nodes)
    if successor := SUCCESSORS.get(topology.key):
        within |= ~_has(topology.key, nodes) & match_labels(LabelMatcher(((successor, "In", values),)), nodes)
    return within


def _has(key: str, nodes: Nodes) -> Bools:
    present: Bools = np.not_equal(nodes.label_ids(key), ABSENT)
    return present
