"""The volumes of a pod on a node: bound ones, ones to bind, and ones to provision.

For one node the choice is a value; for many nodes it is the equivalent arrays.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from pilotage.framework.api.nodes import Bools, Ids, NodeInfo, Nodes
from pilotage.framework.api.objects import Objects
from pilotage.framework.api.verdicts import PluginFailed, Rejection, Verdicts
from pilotage.kinds.csi_migration import Migration, Untranslatable, migration_of, translated, translated_affinity
from pilotage.kinds.reach import EVERYWHERE, Reach, reach_of_selector, reach_of_volume, reaches
from pilotage.kinds.storage import CSINode, CSIStorageCapacity, PersistentVolume
from pilotage.plugins.volumes.volume_binding.delayed_claims import DelayedClaim
from pilotage.plugins.volumes.volume_binding.ranking import within_reach
from pilotage.plugins.volumes.volume_binding.suitable_volumes import SuitableVolumes

OUT_OF_REACH = "node(s) didn't match PersistentVolume's node affinity"
NOTHING_TO_BIND = "node(s) didn't find available persistent volumes to bind"
NOT_ENOUGH_SPACE = "node(s) did not have enough free storage"
VOLUME_GONE = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"

NONE = -1  # no volume
# Returns on which nodes a CSI driver serves the volumes of an in-tree plugin.
MigratedOn = Callable[[str, Nodes], Bools]


class BoundVolume:
    """The volume of a bound claim; None if the volume was deleted."""

    def __init__(self, volume: PersistentVolume | None) -> None:
        self.volume = volume
        self.migration: Migration | None = migration_of(volume) if volume else None
        self.reach: Reach = reach_of_volume(volume) if volume else EVERYWHERE

    def migrated_reach(self) -> Reach:
        """Return the reach of the volume through its CSI driver, or raise PluginFailed."""
        assert self.volume is not None
        assert self.migration is not None
        try:
            translated(self.volume)
        except Untranslatable as error:
            raise PluginFailed(f"could not translate pv: {error}") from None
        return reach_of_selector(translated_affinity(self.volume, self.migration))


@dataclass
class NodeVolumes:
    """The volumes to bind and to provision for a pod on one node."""

    bindings: list[tuple[DelayedClaim, PersistentVolume]] = field(default_factory=list)
    provisions: list[tuple[DelayedClaim, CSIStorageCapacity | None]] = field(default_factory=list)


@dataclass
class ManyNodesVolumes:
    """The same for many nodes, with the rejections of the others."""

    out_of_reach: Bools
    gone: Bools
    nothing_to_bind: Bools
    not_enough_space: Bools
    # For each claim: an index into `volumes` for each node, or NONE.
    bindings: list[tuple[DelayedClaim, Ids]] = field(default_factory=list)
    # For each claim: on which nodes a volume would be provisioned, and the rank of the capacity.
    provisions: list[tuple[DelayedClaim, Bools, Ids | None]] = field(default_factory=list)

    @property
    def rejected(self) -> Bools:
        """Return a mask of the rejected nodes."""
        return self.out_of_reach | self.gone | self.nothing_to_bind | self.not_enough_space

    def verdicts(self) -> Verdicts:
        """Return the reasons of each node, in kube-scheduler's order."""
        cases = [
            (OUT_OF_REACH, self.out_of_reach),
            (NOTHING_TO_BIND, self.nothing_to_bind),
            (NOT_ENOUGH_SPACE, self.not_enough_space),
            (VOLUME_GONE, self.gone),
        ]
        holding = [(reason, mask, True) for reason, mask in cases if mask.any()]
        if len(holding) == 1:
            return Verdicts.where(holding[0][1], Rejection(holding[0][0], preemption_helps=False))
        return Verdicts.all_reasons(holding) if holding else Verdicts.all_fit(len(self.gone))


class TakenVolumes:
    """The volumes that earlier claims of the pod would bind on each node, as bits."""

    def __init__(self, nodes: int, volumes: int) -> None:
        self._bits = np.zeros((nodes, volumes // 8 + 1), np.uint8)
        self._rows = np.arange(nodes)

    def take_first_free(self, numbers: Ids) -> Ids:
        """Take the first free one of these volumes on each node, and return its index, or NONE."""
        byte, bit = np.maximum(numbers, 0) >> 3, np.uint8(1) << (numbers & 7).astype(np.uint8)
        free = (numbers != NONE) & ((self._bits[self._rows[:, None], byte] & bit) == 0)
        first = free.argmax(axis=1)
        is_one = free[self._rows, first]
        rows, columns = self._rows[is_one], first[is_one]
        self._bits[rows, byte[rows, columns]] |= bit[rows, columns]
        return np.where(is_one, numbers[self._rows, first], np.int32(NONE)).astype(np.int32, copy=False)


class VolumeChoice:
    """The claims of a pod, and the choice of volumes for nodes."""

    def __init__(self, bound: Sequence[BoundVolume], delayed: Sequence[DelayedClaim]) -> None:
        self.bound = bound
        self.delayed = delayed
        self._selected = [each for each in delayed if each.selected is not None]
        # The smallest claim first, so that it gets the smallest volume.
        self._searching = sorted((each for each in delayed if each.selected is None), key=lambda each: each.size)
        self._numbers: dict[str, int] = {}
        self.volumes: list[PersistentVolume] = []  # the possible volumes of all claims

    # One node.

    def on_node(self, node: NodeInfo, objects: Objects) -> NodeVolumes | Rejection:
        """Return the pod's volumes on a node, or why it cannot run there."""
        bound = self._bound_reason(node, objects)
        chosen = self._choose(node)
        delayed = chosen if isinstance(chosen, str) else None
        order = (OUT_OF_REACH, NOTHING_TO_BIND, NOT_ENOUGH_SPACE, VOLUME_GONE)
        if reasons := [reason for reason in order if reason in (bound, delayed)]:
            return Rejection(*reasons, preemption_helps=False)
        assert isinstance(chosen, NodeVolumes)
        return chosen

    def _bound_reason(self, node: NodeInfo, objects: Objects) -> str | None:
        for bound in self.bound:
            if bound.volume is None:
                return VOLUME_GONE
            reach = bound.reach
            if bound.migration is not None:
                csi_node = objects.get(CSINode, node.name)
                if csi_node is not None and bound.migration.plugin in csi_node.migrated_plugins:
                    reach = bound.migrated_reach()
            if not reaches(reach, node.labels):
                return OUT_OF_REACH
        return None

    def _choose(self, node: NodeInfo) -> NodeVolumes | str:
        if any(each.selected != node.name for each in self._selected):
            return NOTHING_TO_BIND
        chosen, taken, to_make = NodeVolumes(), set(), list(self._selected)
        for each in self._searching:
            within = (
                volume
                for volume, reach in zip(each.suitable.volumes, each.suitable.reaches, strict=True)
                if volume.metadata.name not in taken and reaches(reach, node.labels)
            )
            volume = next(within, None)
            if volume is None:
                to_make.append(each)
            else:
                taken.add(volume.metadata.name)
                chosen.bindings.append((each, volume))
        return self._make(node, to_make, chosen)

    @staticmethod
    def _make(node: NodeInfo, to_make: Sequence[DelayedClaim], chosen: NodeVolumes) -> NodeVolumes | str:
        for each in to_make:
            provisioning = each.provisioning
            if not provisioning.possible or not reaches(provisioning.reach, node.labels):
                return NOTHING_TO_BIND
            pairs = zip(provisioning.capacities, provisioning.reaches, strict=True)
            capacity = next((capacity for capacity, reach in pairs if reaches(reach, node.labels)), None)
            if provisioning.limited and capacity is None:
                return NOT_ENOUGH_SPACE
            chosen.provisions.append((each, capacity))
        return chosen

    # Many nodes.

    def on_nodes(self, nodes: Nodes, migrated_on: MigratedOn) -> ManyNodesVolumes:
        """Return the pod's volumes on each node, or why it cannot run there."""
        nowhere = np.zeros((4, len(nodes)), np.bool_)
        chosen = ManyNodesVolumes(nowhere[0], nowhere[1], nowhere[2], nowhere[3])
        self._check_bound(nodes, migrated_on, chosen)
        if self.delayed:
            for each in self._selected:
                selected = nodes.find(each.selected or "")
                chosen.nothing_to_bind |= nodes.slots != (NONE if selected is None else selected.slot)
            self._bind(nodes, chosen)
            self._make_many(nodes, chosen)
        return chosen

    def _check_bound(self, nodes: Nodes, migrated_on: MigratedOn, chosen: ManyNodesVolumes) -> None:
        undecided = np.ones(len(nodes), np.bool_)
        for bound in self.bound:
            if bound.volume is None:
                chosen.gone = undecided
                return
            if bound.reach is None and bound.migration is None:
                continue
            within = within_reach(bound.reach, nodes)
            if bound.migration is not None:
                migrated = migrated_on(bound.migration.plugin, nodes)
                if (migrated & undecided).any():
                    within = np.where(migrated, within_reach(bound.migrated_reach(), nodes), within)
            chosen.out_of_reach = chosen.out_of_reach | (undecided & ~within)
            undecided = undecided & within

    def _bind(self, nodes: Nodes, chosen: ManyNodesVolumes) -> None:
        numbers_of = {id(each.suitable): self._numbers_of(each.suitable) for each in self._searching}
        taken = TakenVolumes(len(nodes), len(self.volumes))
        for place, each in enumerate(self._searching):
            # As many as earlier claims may bind, plus one.
            ranked = each.suitable.ranking.best(nodes, place + 1)
            chosen.bindings.append((each, taken.take_first_free(numbers_of[id(each.suitable)][ranked])))

    def _numbers_of(self, suitable: SuitableVolumes) -> Ids:
        names = [volume.metadata.name for volume in suitable.volumes]
        for name, volume in zip(names, suitable.volumes, strict=True):
            if name not in self._numbers:
                self._numbers[name] = len(self.volumes)
                self.volumes.append(volume)
        return np.array([*map(self._numbers.__getitem__, names), NONE], np.int32)

    def _make_many(self, nodes: Nodes, chosen: ManyNodesVolumes) -> None:
        everywhere = np.ones(len(nodes), np.bool_)
        to_make = [(each, everywhere) for each in self._selected]
        to_make += [(each, numbers == NONE) for each, numbers in chosen.bindings]
        for each, wanted in to_make:
            needs = wanted & ~chosen.nothing_to_bind & ~chosen.not_enough_space
            if not needs.any():
                continue
            provisioning = each.provisioning
            possible = within_reach(provisioning.reach if provisioning.possible else (), nodes)
            chosen.nothing_to_bind |= needs & ~possible
            capacity = None
            if provisioning.limited:
                capacity = provisioning.ranking.best(nodes)[:, 0]
                chosen.not_enough_space |= needs & possible & (capacity == provisioning.ranking.none)
            chosen.provisions.append((each, wanted, capacity))
