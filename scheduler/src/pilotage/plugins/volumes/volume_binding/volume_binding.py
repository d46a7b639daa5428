"""VolumeBinding: places pods where their volumes are accessible, or can be bound or provisioned."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import AfterValidator

from pilotage.config.documents import At
from pilotage.config.faults import Fault, invalid
from pilotage.config.types import Int64
from pilotage.framework.api.caching import CLUSTER, Caching
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.events import Action, Event, Resource, Retry
from pilotage.framework.api.handle import Handle
from pilotage.framework.api.nodes import Bools, Ints, NodeInfo, Nodes
from pilotage.framework.api.objects import Objects
from pilotage.framework.api.plugin import Filter, PreBind, PreFilter, PreScore, Reserve, Score, nothing_to_note
from pilotage.framework.api.remedies import Remedy
from pilotage.framework.api.scoring_arguments import UtilizationShapePoint, shape_faults
from pilotage.framework.api.verdicts import (
    SKIP,
    SKIP_SHAPE,
    Filtered,
    PluginFailed,
    PreFiltered,
    Rejection,
    Skip,
    Verdicts,
)
from pilotage.framework.runtime.reading import permission_on
from pilotage.kinds.kube_object import KubeObject
from pilotage.kinds.pod_claims import concerns, uses_claims
from pilotage.kinds.reach import reaches
from pilotage.kinds.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from pilotage.model.pod import Pod
from pilotage.plugins.volumes._shared.csi_nodes import CSINodeColumns
from pilotage.plugins.volumes._shared.moved_volume import where_it_is
from pilotage.plugins.volumes._shared.unusable_claims import unusable_claims
from pilotage.plugins.volumes.volume_binding.claim_sorting import SortedClaims, sort_claims
from pilotage.plugins.volumes.volume_binding.delayed_claims import DelayedClaim, volume_limit
from pilotage.plugins.volumes.volume_binding.storage_index import StorageIndex
from pilotage.plugins.volumes.volume_binding.suitable_volumes import VolumeSearch
from pilotage.plugins.volumes.volume_binding.volume_choice import BoundVolume, VolumeChoice
from pilotage.plugins.volumes.volume_binding.volume_progress import ClusterView
from pilotage.plugins.volumes.volume_binding.volume_remedies import bound_elsewhere, unbound
from pilotage.plugins.volumes.volume_binding.volume_reservation import Reservation, Reservations
from pilotage.plugins.volumes.volume_binding.volume_scoring import StorageScore
from pilotage.plugins.volumes.volume_binding.volume_writer import VolumeWriter

# Prefers nodes with the most remaining capacity.
DEFAULT_SHAPE = (UtilizationShapePoint(utilization=0, score=10), UtilizationShapePoint(utilization=100, score=0))
ANY_CHANGE = Action.ADD | Action.UPDATE


class _State:
    """The state of a pod's volumes in one cycle."""

    def __init__(self, choice: VolumeChoice, bound: list[PersistentVolumeClaim]) -> None:
        self.choice = choice
        self.bound = bound  # the claims whose volumes `choice.bound` has
        self.all_bound = False
        self.held: Reservation | None = None


class VolumeBinding(PreFilter, Filter, PreScore, Score, Reserve, PreBind):
    """Place a pod where its volumes are accessible, or where volumes can be bound or provisioned for its claims."""

    bind_timeout_seconds: Int64 = 600
    shape: Annotated[tuple[UtilizationShapePoint, ...], AfterValidator(lambda given: given or DEFAULT_SHAPE)] = (
        DEFAULT_SHAPE
    )

    caching = Caching(CLUSTER)
    idle_when_skipped = True
    retry_on = (
        Retry(Resource.STORAGE_CLASS, ANY_CHANGE, "class_changed"),
        Retry(Resource.PERSISTENT_VOLUME_CLAIM, ANY_CHANGE, "claim_changed"),
        Retry(Resource.PERSISTENT_VOLUME, ANY_CHANGE),
        Retry(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL),
        Retry(Resource.CSI_NODE, ANY_CHANGE, "csi_node_changed"),
        Retry(Resource.CSI_DRIVER, Action.UPDATE, "driver_changed"),
        Retry(Resource.CSI_STORAGE_CAPACITY, ANY_CHANGE, "capacity_changed"),
    )
    reads = (PersistentVolumeClaim, PersistentVolume, StorageClass, CSINode, CSIDriver, CSIStorageCapacity)
    permissions = (
        permission_on(PersistentVolume, "patch"),
        permission_on(PersistentVolumeClaim, "patch"),
    )

    def __post_init__(self) -> None:
        """Start with empty state."""
        super().__post_init__()
        self._index = StorageIndex()
        self._reservations = Reservations()
        self._csi_nodes = CSINodeColumns()
        self._score: StorageScore | None = None
        self._writer: VolumeWriter | None = None

    def start(self, handle: Handle) -> None:
        """Create the writer that binds volumes and triggers provisioning through the API server."""
        super().start(handle)
        view = ClusterView(handle.objects, handle.find_node, handle.find_pod)
        self._writer = VolumeWriter(handle.api, view)
        handle.on_change(PersistentVolume, self._writer.noticed)
        handle.on_change(PersistentVolumeClaim, self._writer.noticed)

    def faults(self, at: At) -> list[Fault]:
        """Return the errors in the arguments."""
        found = list(shape_faults(self.shape, (*at, "shape")))
        if self.bind_timeout_seconds < 0:
            detail = "invalid BindTimeoutSeconds, should not be a negative value"
            found.insert(0, invalid((*at, "bindTimeoutSeconds"), self.bind_timeout_seconds, detail))
        return found

    def pre_filter(self, cycle: Cycle, pod: Pod) -> PreFiltered:
        """Sort the claims: bound ones, and those that wait for the pod; reject the pod for any other."""
        if not pod.spec.volumes or not uses_claims(pod):
            return SKIP_SHAPE
        claims = sort_claims(pod, cycle.objects)
        if isinstance(claims, Rejection):
            return claims
        cycle.notes[self.name] = _State(self._choice(cycle.objects, claims), claims.bound)
        return None

    def _choice(self, objects: Objects, claims: SortedClaims) -> VolumeChoice:
        index, reservations = self._index, self._reservations
        bound = [BoundVolume(objects.get(PersistentVolume, claim.spec.volume_name)) for claim in claims.bound]
        search = VolumeSearch(objects, index, reservations.volumes)
        waiting = map(reservations.claims.current, claims.delayed)
        return VolumeChoice(bound, [DelayedClaim(claim, objects, index, search) for claim in waiting])

    def filter(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> Filtered:
        """Reject a node where a volume is not accessible and cannot be bound or provisioned."""
        chosen = _state(cycle).choice.on_node(node, cycle.objects)
        return chosen if isinstance(chosen, Rejection) else None

    def filter_nodes(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Verdicts:
        """Return the same for many nodes."""
        choice = _state(cycle).choice
        return choice.on_nodes(nodes, lambda plugin, nodes: self._migrated_on(cycle, plugin, nodes)).verdicts()

    def _migrated_on(self, cycle: Cycle, plugin: str, nodes: Nodes) -> Bools:
        column = self._csi_nodes.column(cycle, (plugin,), lambda csi_node: int(plugin in csi_node.migrated_plugins))
        migrated: Bools = nodes.at(column) > 0
        return migrated

    def remedies(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Iterator[Remedy]:
        """Offer what makes the claims usable, or the volumes reachable from these nodes."""
        state: _State | None = cycle.notes.get(self.name)
        if state is None:
            yield from unusable_claims(pod, cycle.objects)
            return
        yield from bound_elsewhere(state.bound, state.choice, nodes)
        yield from unbound(state.choice, nodes, cycle.objects)

    def remark(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> str:
        """Return which volumes the node cannot reach, and where they are."""
        state: _State | None = cycle.notes.get(self.name)
        if state is None:
            return ""
        pairs = zip(state.bound, state.choice.bound, strict=True)
        there = [(claim, bound.volume) for claim, bound in pairs if not reaches(bound.reach, node.labels)]
        return "; ".join(where_it_is(claim, volume) for claim, volume in there if volume is not None)

    pre_score = nothing_to_note  # a pod without such volumes gets 0 on every node

    def score(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> int:
        """Return the score of the node's available volumes."""
        state: _State | None = cycle.notes.get(self.name)
        chosen = None if state is None else state.choice.on_node(node, cycle.objects)
        return 0 if chosen is None or isinstance(chosen, Rejection) else self._scoring().of_node(chosen)

    def score_nodes(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Ints | int:
        """Return the same for many nodes."""
        state: _State | None = cycle.notes.get(self.name)
        if state is None or not state.choice.delayed:
            return 0
        chosen = state.choice.on_nodes(nodes, lambda plugin, nodes: self._migrated_on(cycle, plugin, nodes))
        return self._scoring().of_nodes(chosen, state.choice.volumes)

    def _scoring(self) -> StorageScore:
        if self._score is None:
            self._score = StorageScore(self.shape)
        return self._score

    def reserve(self, cycle: Cycle, pod: Pod, node: str) -> Filtered:
        """Reserve the volumes of the node for the pod."""
        state: _State | None = cycle.notes.get(self.name)
        if state is None:
            return None
        info = cycle.nodes.find(node)
        state.all_bound = info is None or all(_is_bound_now(each.claim, cycle.objects) for each in state.choice.delayed)
        if info is None or state.all_bound:
            return None
        chosen = state.choice.on_node(info, cycle.objects)
        if isinstance(chosen, Rejection):
            return chosen
        state.held = self._reservations.make(chosen, node, cycle.objects)
        return None

    def unreserve(self, cycle: Cycle, pod: Pod, node: str) -> None:
        """Release the volumes."""
        state: _State | None = cycle.notes.get(self.name)
        if state is not None and state.held is not None:
            self._reservations.release(state.held)
            state.held = None

    def as_reserved(self, found: KubeObject) -> KubeObject:
        """Return a volume or claim as it will be once the pods are bound that reserve it; anything else as it is."""
        if isinstance(found, PersistentVolume):
            return self._reservations.volumes.current(found)
        return self._reservations.claims.current(found) if isinstance(found, PersistentVolumeClaim) else found

    def pre_bind_pre_flight(self, cycle: Cycle, pod: Pod, node: str) -> Skip | None:
        """Skip if every claim has its volume already."""
        state: _State | None = cycle.notes.get(self.name)
        if state is None or state.all_bound:
            return SKIP
        if state.held is None or state.held.node != node:
            raise PluginFailed(f'no pod volume found for node "{node}"')
        return None

    async def pre_bind(self, cycle: Cycle, pod: Pod, node: str) -> Filtered:
        """Bind and provision the volumes, and wait for that."""
        if self.pre_bind_pre_flight(cycle, pod, node) is SKIP:
            return None
        if self._writer is None:
            raise PluginFailed("binding volumes: this process cannot write to the API server")
        held = _state(cycle).held
        assert held is not None
        volumes = [each.changed for each in held.volumes]
        claims = [each.changed for each in held.claims]
        if complaint := await self._writer.bind(pod, node, volumes, claims, self.bind_timeout_seconds):
            raise PluginFailed(complaint)
        self._reservations.release(held)  # the API has the same state now, and bound claims are not read again
        return None

    def class_changed(self, pod: Pod, event: Event, old: object, new: object) -> bool:
        """Return whether a class is new, or its allowed topologies have changed."""
        if not isinstance(old, StorageClass) or not isinstance(new, StorageClass):
            return True
        return old.allowed_topologies != new.allowed_topologies

    def claim_changed(self, pod: Pod, event: Event, old: object, new: object) -> bool:
        """Return whether the claim belongs to the pod."""
        return not isinstance(new, PersistentVolumeClaim) or concerns(new, pod)

    def csi_node_changed(self, pod: Pod, event: Event, old: object, new: object) -> bool:
        """Return whether a node has new drivers, or newly migrated in-tree plugins."""
        if not isinstance(old, CSINode) or not isinstance(new, CSINode):
            return True
        return old.migrated_plugins_text != new.migrated_plugins_text

    def driver_changed(self, pod: Pod, event: Event, old: object, new: object) -> bool:
        """Return whether a driver of the pod's inline volumes stopped tracking capacity; claims are ignored."""
        if not isinstance(old, CSIDriver) or not isinstance(new, CSIDriver):
            return True
        named = any(volume.csi is not None and volume.csi.driver == new.metadata.name for volume in pod.spec.volumes)
        return named and old.spec.storage_capacity is True and new.spec.storage_capacity is not True

    def capacity_changed(self, pod: Pod, event: Event, old: object, new: object) -> bool:
        """Return whether larger volumes can be provisioned on any node."""
        if not isinstance(old, CSIStorageCapacity) or not isinstance(new, CSIStorageCapacity):
            return True
        before, now = volume_limit(old), volume_limit(new)
        return now is not None and (before is None or now > before)


def _is_bound_now(claim: PersistentVolumeClaim, objects: Objects) -> bool:
    stored = objects.get(PersistentVolumeClaim, claim.metadata.name, claim.metadata.namespace)
    return stored is not None and stored.is_bound


def _state(cycle: Cycle) -> _State:
    state: _State = cycle.notes[VolumeBinding.name]
    return state
