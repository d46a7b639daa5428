"""A copy of a cluster in which anything may happen, made in steps and restored after each question.

The state is recorded in one step, as lists of objects that are never changed. The running cluster may therefore change
while the copy is filled, and nothing that happens in the copy affects it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from time import time
from typing import Any

from pilotage.cache.cluster_cache import ClusterCache
from pilotage.cache.object_store import ObjectStore
from pilotage.kinds.every import KNOWN, KindTable
from pilotage.kinds.kube_object import KubeObject
from pilotage.kinds.storage import StorageClass
from pilotage.kinds.workloads import PriorityClass
from pilotage.model.metadata import Metadata
from pilotage.model.node import Node
from pilotage.model.pod import Pod
from pilotage.offline.admission import SYSTEM_CLASSES
from pilotage.offline.simulation import Simulation
from pilotage.queue.scheduling_queue import SchedulingQueue

# The memory of a copy, besides the objects, which it shares: a conservative estimate.
BYTES_OF_A_NODE, BYTES_OF_A_POD = 4096, 1024
MOST_BYTES = 256 << 20


class TooLarge(Exception):
    """The cluster is too large for a copy; the text says what to do."""


@dataclass(frozen=True)
class Trouble:
    """An object that cannot be decoded."""

    kind: type[KubeObject]
    namespace: str
    name: str
    reason: str


@dataclass(frozen=True)
class Moment:
    """A cluster as it was at one moment."""

    nodes: Sequence[Node]
    placed: Sequence[Pod]
    waiting: Sequence[Pod]  # the oldest first
    objects: Sequence[KubeObject] = ()
    troubles: Sequence[Trouble] = ()
    beliefs: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # what is used by pods that are not visible
    at: float = field(default_factory=time)

    @property
    def size(self) -> int:
        """Return about how many bytes a copy needs."""
        return len(self.nodes) * BYTES_OF_A_NODE + (len(self.placed) + len(self.waiting)) * BYTES_OF_A_POD


def moment_of(
    cache: ClusterCache, queue: SchedulingQueue, as_reserved: Callable[[KubeObject], KubeObject] = lambda found: found
) -> Moment:
    """Record the state of a running cluster; TooLarge if a copy would need too much memory.

    Pods in flight use their capacity: those with a node that are not bound yet are among the placed ones, objects that
    they reserve are as they will be, and pods that are being decided come first among the waiting ones.
    """
    waiting = sorted(((queued.timestamp, place, queued.pod) for place, queued in enumerate(queue)), key=_by_age)
    undecided = [pod for pod in queue.in_flight() if cache.find_pod(pod.uid) is None]
    troubles = (Trouble(kind, space, name, why) for kind, space, name, why in cache.objects.all_troubles())
    found = Moment(
        [info.node for info in cache.columns.infos],
        cache.pods(),
        [*undecided, *(pod for _, _, pod in waiting)],
        list(map(as_reserved, _objects(cache.objects))),
        list(troubles),
        cache.beliefs(),
    )
    if found.size > MOST_BYTES:
        what = f"{len(found.nodes)} nodes and {len(found.placed)} pods"
        raise TooLarge(f"the cluster is too large for a copy in the scheduler ({what}); ask with --source local")
    return found


def _objects(store: ObjectStore) -> Iterator[KubeObject]:
    for kind in store.kinds():
        yield from store.all(kind)


def moment_in(found: Iterable[Pod | Node | KubeObject]) -> Moment:
    """Record the state of a cluster given by its objects."""
    nodes: list[Node] = []
    placed: list[Pod] = []
    waiting: list[Pod] = []
    objects: list[KubeObject] = []
    for each in found:
        if isinstance(each, Node):
            nodes.append(each)
        elif not isinstance(each, Pod):
            objects.append(each)
        else:
            (placed if each.node_name else waiting).append(each)
    return Moment(nodes, placed, waiting, objects)


def _by_age(waiting: tuple[float, int, Pod]) -> tuple[float, int]:
    return waiting[:2]


@dataclass(frozen=True)
class Scheduling:
    """What decides in a copy: new instances of the profiles for each play, so that the running ones are not touched."""

    # Gets the cluster, specs of SchedulerProfiles by schedulerName, and whether evictions are allowed.
    simulation: Callable[[ClusterCache, Mapping[str, Mapping[str, Any]], bool], Simulation]
    kinds: KindTable = KNOWN
    has_extenders: bool = False
    profile_hash: str = ""


class World:
    """A copy of a cluster, and what decides there."""

    def __init__(self, moment: Moment, scheduling: Scheduling) -> None:
        self.moment, self.scheduling = moment, scheduling
        self.cache = ClusterCache(tells_later=True)
        self.keys: set[str] = set()  # of all pods, as namespace/name
        self.classes: dict[str, KubeObject] = {}  # that new objects may name, by kind and name
        self._uids: set[str] = set()  # of placed pods
        self._identities: set[tuple[type, str, str]] = set()  # of objects
        self._is_filled = False

    def steps(self) -> Iterator[None]:
        """Fill the copy, or restore the cluster's state after a question."""
        yield from self._put_back() if self._is_filled else self._fill()
        self._is_filled = True

    def _fill(self) -> Iterator[None]:
        moment, cache = self.moment, self.cache
        for each in moment.objects:
            cache.objects.put(each)
            self._identities.add(_identity(each))
            if isinstance(each, PriorityClass | StorageClass):
                self.classes[f"{type(each).__name__}/{each.metadata.name}"] = each
            yield
        for trouble in moment.troubles:
            cache.objects.note_trouble(trouble.kind, trouble.name, trouble.namespace, trouble.reason)
        for node in moment.nodes:
            cache.put_node(node)
            yield
        for name, amounts in moment.beliefs.items():
            cache.believe(name, "moment", amounts)
        for pod in moment.placed:
            cache.put_pod(pod)
            self._uids.add(pod.uid)
            self._note(pod)
            yield
        for pod in moment.waiting:
            self._note(pod)
            yield

    def _note(self, pod: Pod) -> None:
        """Record a pod's name and its priority class: a scheduler does not read the classes themselves."""
        self.keys.add(pod.key)
        name = pod.spec.priority_class_name
        if name and name not in SYSTEM_CLASSES and f"{PriorityClass.__name__}/{name}" not in self.classes:
            found = PriorityClass(Metadata(name), pod.priority, preemption_policy=pod.spec.preemption_policy)
            self.classes[f"{PriorityClass.__name__}/{name}"] = found

    def _put_back(self) -> Iterator[None]:
        yield from self._put_nodes_back()
        yield from self._put_pods_back()
        yield from self._put_objects_back()

    def _put_nodes_back(self) -> Iterator[None]:
        known = {node.name: node for node in self.moment.nodes}
        for name in [info.name for info in self.cache.columns.infos]:
            if name not in known:
                self.cache.remove_node(name)
                yield
        for node in self.moment.nodes:
            info = self.cache.find_node(node.name)
            if info is None or info.node is not node:
                self.cache.put_node(node)
                if info is None and node.name in self.moment.beliefs:
                    self.cache.believe(node.name, "moment", self.moment.beliefs[node.name])
            yield

    def _put_pods_back(self) -> Iterator[None]:
        for pod in self.cache.pods():
            if pod.uid not in self._uids:
                self.cache.remove_pod(pod.uid)
            yield
        for pod in self.moment.placed:
            if self.cache.find_pod(pod.uid) is not pod:
                self.cache.put_pod(pod)
            yield

    def _put_objects_back(self) -> Iterator[None]:
        store = self.cache.objects
        for kind in store.kinds():
            there: Iterable[KubeObject] = store.all(kind)
            for each in there:
                if _identity(each) not in self._identities:
                    store.drop(each)
                yield
        for each in self.moment.objects:
            if store.get(type(each), each.metadata.name, each.metadata.namespace) is not each:
                store.put(each)
            yield


def _identity(found: Any) -> tuple[type, str, str]:
    return type(found), found.metadata.namespace, found.metadata.name
