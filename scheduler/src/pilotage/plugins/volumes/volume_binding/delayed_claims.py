"""Claims with WaitForFirstConsumer, and their possible volumes."""

from functools import cached_property

import numpy as np

from pilotage.framework.api.nodes import Ints
from pilotage.framework.api.objects import Objects
from pilotage.framework.api.verdicts import PluginFailed
from pilotage.kinds.reach import reach_of_class
from pilotage.kinds.storage import (
    NO_PROVISIONER,
    SELECTED_NODE,
    STORAGE,
    CSIDriver,
    CSIStorageCapacity,
    PersistentVolumeClaim,
    StorageClass,
)
from pilotage.kinds.volume_matching import size_of
from pilotage.model.quantity import value_of
from pilotage.plugins.volumes.volume_binding.ranking import Ranking
from pilotage.plugins.volumes.volume_binding.storage_index import StorageIndex
from pilotage.plugins.volumes.volume_binding.suitable_volumes import SuitableVolumes, VolumeSearch


class DelayedClaim:
    """A claim that waits for its pod: the volumes that match it, and whether one can be provisioned."""

    def __init__(
        self,
        claim: PersistentVolumeClaim,
        objects: Objects,
        index: StorageIndex,
        search: VolumeSearch,
    ) -> None:
        self.claim = claim
        self.selected = claim.metadata.annotations.get(SELECTED_NODE)  # the node of a provisioning in progress
        self.size = size_of(claim.requested)
        self.requested = value_of(claim.requested)
        self._objects = objects
        self._index = index
        self._search = search

    def like(self, claim: PersistentVolumeClaim) -> "DelayedClaim":
        """Return what another claim could get in the same state."""
        return DelayedClaim(claim, self._objects, self._index, self._search)

    @property
    def volumes_of_class(self) -> int:
        """Return how many volumes its class has, taken ones included."""
        return len(self._index.volumes(self._objects, self.claim.class_name))

    @cached_property
    def suitable(self) -> SuitableVolumes:
        """Return the volumes that the claim could use."""
        return self._search.volumes_for(self.claim)

    @cached_property
    def provisioning(self) -> "Provisioning":
        """Return how a volume could be provisioned."""
        class_name = self.claim.class_name
        if not class_name:
            raise PluginFailed(f'no class for claim "{self.claim.metadata.namespace}/{self.claim.metadata.name}"')
        storage = self._objects.get(StorageClass, class_name)
        if storage is None:
            raise PluginFailed(f'failed to find storage class "{class_name}"')
        size = self.requested if STORAGE in self.claim.spec.resources.requests else None
        kinds = StorageClass, CSIDriver, CSIStorageCapacity
        return self._index.remember(
            self._objects, kinds, (class_name, size), lambda: Provisioning(storage, size, self._objects, self._index)
        )


class Provisioning:
    """Whether and where a volume of some size can be provisioned; equal claims share one."""

    def __init__(self, storage: StorageClass, size: int | None, objects: Objects, index: StorageIndex) -> None:
        self.possible = storage.provisioner not in ("", NO_PROVISIONER)
        self.reach = reach_of_class(storage)
        driver = objects.get(CSIDriver, storage.provisioner)
        self.limited = size is not None and driver is not None and driver.spec.storage_capacity is True
        # Each claim is evaluated alone, as in kube-scheduler: two may exceed the capacity together.
        self.capacities = [
            each
            for each in (index.capacities(objects, storage.metadata.name) if self.limited else ())
            if (limit := volume_limit(each)) is not None and limit >= (size or 0)
        ]
        self.reaches = index.capacity_reaches(self.capacities)

    @cached_property
    def ranking(self) -> Ranking:
        """Return the capacities in order."""
        return Ranking(self.reaches)

    @cached_property
    def left(self) -> Ints:
        """Return the remaining amounts of the capacities by rank, with 0 for none."""
        return np.array([*map(left_in, self.capacities), 0], np.int64)


def left_in(capacity: CSIStorageCapacity) -> int:
    """Return the remaining amount; 0 if a driver reports only the maximum size of a volume."""
    return 0 if capacity.capacity is None else value_of(capacity.capacity)


def volume_limit(capacity: CSIStorageCapacity) -> int | None:
    """Return the maximum size of a new volume; maximumVolumeSize takes precedence over the capacity."""
    written = capacity.capacity if capacity.maximum_volume_size is None else capacity.maximum_volume_size
    return None if written is None else value_of(written)
