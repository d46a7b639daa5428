"""Volumes and capacities by storage class, with their reach; rebuilt only when such an object changes."""

from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

from pilotage.framework.api.objects import Kind, Objects
from pilotage.kinds.reach import Reach, reach_of_capacity, reach_of_volume
from pilotage.kinds.storage import CSIStorageCapacity, PersistentVolume

Storage = TypeVar("Storage", PersistentVolume, CSIStorageCapacity)
Answer = TypeVar("Answer")

MOST_ANSWERS = 64


class _ByClass(Generic[Storage]):
    """Objects of one kind by their storage class."""

    def __init__(self, kind: type[Storage], class_of: Callable[[Storage], str]) -> None:
        self._kind: type[Storage] = kind
        self._class_of: Callable[[Storage], str] = class_of
        self._read: tuple[Objects, int] | None = None
        self._by_class: dict[str, list[Storage]] = {}

    def of(self, objects: Objects, name: str) -> list[Storage]:
        """Return the objects of a class."""
        version = objects.version(self._kind)
        if self._read is None or self._read[0] is not objects or self._read[1] != version:
            self._read, self._by_class = (objects, version), {}
            for each in objects.all(self._kind):
                self._by_class.setdefault(self._class_of(each), []).append(each)
        return self._by_class.get(name, [])


class _Reaches:
    """A cache of the reach of each object, which is expensive to compute."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], tuple[object, Reach]] = {}

    def of(self, each: Storage, source: object, find: Callable[[Storage], Reach]) -> Reach:
        """Return the reach, computed only for a new object."""
        key = each.metadata.namespace, each.metadata.name
        known = self._known.get(key)
        if known is None or known[0] is not source:
            known = self._known[key] = source, find(each)
        return known[1]

    def forget_surplus(self, needed: int) -> None:
        """Clear the cache if most entries belong to deleted objects."""
        if len(self._known) > 1024 + 4 * needed:
            self._known.clear()


class StorageIndex:
    """The storage that claims can choose from."""

    def __init__(self) -> None:
        self._volumes = _ByClass(PersistentVolume, lambda volume: volume.class_name)
        self._capacities = _ByClass(CSIStorageCapacity, lambda capacity: capacity.storage_class_name)
        self._answers: dict[Hashable, Any] = {}
        self._answered: tuple[Objects, int] | None = None
        self._volume_reaches = _Reaches()
        self._capacity_reaches = _Reaches()

    def volumes(self, objects: Objects, class_name: str) -> list[PersistentVolume]:
        """Return the volumes of a class, as in the API."""
        return self._volumes.of(objects, class_name)

    def capacities(self, objects: Objects, class_name: str) -> list[CSIStorageCapacity]:
        """Return the capacities that drivers report for a class."""
        return self._capacities.of(objects, class_name)

    def remember(
        self, objects: Objects, kinds: tuple[type[Kind], ...], question: Hashable, answer: Callable[[], Answer]
    ) -> Answer:
        """Return a value derived from objects of some kinds, recomputed only when one of them changes."""
        version = objects.version(*kinds)
        if self._answered is None or self._answered[0] is not objects or self._answered[1] != version:
            self._answered = objects, version
            self._answers.clear()
        elif len(self._answers) >= MOST_ANSWERS:
            self._answers.clear()
        if question not in self._answers:
            self._answers[question] = answer()
        return self._answers[question]  # type: ignore[no-any-return] # one key has one type of value

    def volume_reaches(self, volumes: list[PersistentVolume]) -> list[Reach]:
        """Return the reach of each volume."""
        self._volume_reaches.forget_surplus(len(volumes))
        return [self._volume_reaches.of(each, each.spec.node_affinity, reach_of_volume) for each in volumes]

    def capacity_reaches(self, capacities: list[CSIStorageCapacity]) -> list[Reach]:
        """Return the reach of each capacity."""
        self._capacity_reaches.forget_surplus(len(capacities))
        return [self._capacity_reaches.of(each, each.node_topology, reach_of_capacity) for each in capacities]
