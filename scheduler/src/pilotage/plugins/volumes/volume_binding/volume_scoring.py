"""Scores how well the volumes of a pod on a node match its requests."""

from collections.abc import Sequence

import numpy as np

from pilotage.framework.api.nodes import Bools, Ints
from pilotage.framework.api.scoring import MAX_SCORE, BrokenLine
from pilotage.framework.api.scoring_arguments import HIGHEST_SHAPE_SCORE, UtilizationShapePoint
from pilotage.kinds.storage import PersistentVolume
from pilotage.model.quantity import HUGE, value_of
from pilotage.plugins.volumes.volume_binding.delayed_claims import left_in
from pilotage.plugins.volumes.volume_binding.volume_choice import NONE, ManyNodesVolumes, NodeVolumes


class StorageScore:
    """The mean over storage classes of a function of the used share of storage."""

    def __init__(self, shape: Sequence[UtilizationShapePoint]) -> None:
        scale = MAX_SCORE // HIGHEST_SHAPE_SCORE
        line = BrokenLine([(point.utilization, point.score * scale) for point in shape])
        self._by_percentage = [line(percentage) for percentage in range(MAX_SCORE + 1)]
        self._table = np.array(self._by_percentage, np.int64)

    def of_node(self, chosen: NodeVolumes) -> int:
        """Return the score of one node; provisioning counts only where no volume is bound."""
        classes: dict[str, tuple[int, int]] = {}  # requested and capacity
        for each, volume in chosen.bindings:
            requested, capacity = classes.get(volume.spec.storage_class_name, (0, 0))
            found = value_of(volume.capacity)
            classes[volume.spec.storage_class_name] = requested + each.requested, capacity + found
        for each, left in () if chosen.bindings else chosen.provisions:
            if left is not None:
                requested, _ = classes.get(each.claim.class_name, (0, 0))
                # All claims of a class share its remaining capacity.
                classes[each.claim.class_name] = requested + each.requested, left_in(left)
        if not classes:
            return 0
        total = sum(self._by_percentage[_used(*amounts)] for amounts in classes.values())
        return (2 * total + len(classes)) // (2 * len(classes))

    def of_nodes(self, chosen: ManyNodesVolumes, volumes: Sequence[PersistentVolume]) -> Ints:
        """Return the scores of many nodes."""
        count = len(chosen.gone)
        classes = _ManyClasses(count, object if _is_huge(chosen, volumes) else np.int64)
        taken = classes.add_bindings(chosen, volumes)
        classes.add_provisions(chosen, ~taken)
        total, number = np.zeros(count, np.int64), np.zeros(count, np.int64)
        for requested, capacity, present in classes.amounts.values():
            total += self._table[_used_on(requested, capacity)] * present
            number += present
        scores: Ints = (2 * total + number) // np.maximum(2 * number, 1)
        return scores * ~chosen.rejected


class _ManyClasses:
    """For each class and node: the requested amount, the capacity, and whether the class counts."""

    def __init__(self, count: int, kind: type) -> None:
        self._count = count
        self._kind = kind  # of numbers: 64 bits, or Python integers if these may overflow
        self.amounts: dict[tuple[str, bool], tuple[Ints, Ints, Bools]] = {}

    def add_bindings(self, chosen: ManyNodesVolumes, volumes: Sequence[PersistentVolume]) -> Bools:
        """Add the volumes to bind; returns a mask of nodes with any."""
        any_taken = np.zeros(self._count, np.bool_)
        # The last entry is for the index NONE.
        sizes = np.array([*(value_of(volume.capacity) for volume in volumes), 0], np.int64)
        names = list(dict.fromkeys(volume.spec.storage_class_name for volume in volumes))
        of_class = np.array([*(names.index(volume.spec.storage_class_name) for volume in volumes), NONE], np.int32)
        for each, numbers in chosen.bindings:
            any_taken |= numbers != NONE
            for place, name in enumerate(names):
                here = of_class[numbers] == place
                requested, capacity, present = self._of(name, taken=True)
                requested += each.requested * here
                capacity += sizes[numbers] * here
                present |= here
        return any_taken

    def add_provisions(self, chosen: ManyNodesVolumes, where: Bools) -> None:
        """Add the volumes to provision on these nodes."""
        for each, wanted, ranks in chosen.provisions:
            if ranks is None:
                continue
            here = wanted & where & (ranks != each.provisioning.ranking.none)
            requested, capacity, present = self._of(each.claim.class_name, taken=False)
            requested += each.requested * here
            np.copyto(capacity, each.provisioning.left[ranks], where=here)
            present |= here

    def _of(self, name: str, *, taken: bool) -> tuple[Ints, Ints, Bools]:
        if (name, taken) not in self.amounts:
            requested: Ints = np.zeros(self._count, self._kind)
            self.amounts[name, taken] = requested, requested.copy(), np.zeros(self._count, np.bool_)
        return self.amounts[name, taken]


def _is_huge(chosen: ManyNodesVolumes, volumes: Sequence[PersistentVolume]) -> bool:
    """Return whether sums and percentages may overflow 64 bits: claims can have any size."""
    claims = [*(each for each, _ in chosen.bindings), *(each for each, _, _ in chosen.provisions)]
    wanted = sum(each.requested for each in claims)
    there = sum(value_of(volume.capacity) for volume in volumes)
    left = max((int(each.provisioning.left.max(initial=0)) for each, _, _ in chosen.provisions), default=0)
    return max(wanted, there, left) > HUGE


def _used(requested: int, capacity: int) -> int:
    return MAX_SCORE if capacity == 0 or requested > capacity else requested * MAX_SCORE // capacity


def _used_on(requested: Ints, capacity: Ints) -> Ints:
    full = (capacity == 0) | (requested > capacity)
    shares = np.where(full, MAX_SCORE, np.where(full, 0, requested) * MAX_SCORE // np.maximum(capacity, 1))
    return shares.astype(np.int64, copy=False)
