"""The nodes that pods have left, kept for their successors: pods of the same owner, or the next one of the same name.

running ── deleted, finished or terminating ────> vacant ── a successor is placed ──> taken
                                                    ^                                   │
                                                    └──── its bind fails: returned ─────┘
"""

from collections import OrderedDict
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass

from pilotage.framework.api.stays import Stay
from pilotage.model.pod import Pod

MOST_PLACES = 50_000  # vacant ones; the oldest are forgotten first
MOST_TAKEN = 10_000  # recently taken ones; far more than there are binds in progress

INSTANT = 0.001  # seconds; a pod never leaves before it arrives

NO_SUCCESSORS = ("DaemonSet", "Node")  # their pods always run on the same node
STABLE_NAMES = "StatefulSet"  # pod names of other owners end with random characters
TEMPLATE_HASH = "pod-template-hash"
COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"


def lineage(pod: Pod) -> Hashable:
    """Return the key that a pod shares with its predecessors; None if it cannot have any.

    The key is its owner and, where replicas have an identity, its replica. All replica sets of a deployment count as
    one owner, since each change of the deployment creates another.
    """
    owner = pod.metadata.controller
    if owner is None or owner.kind in NO_SUCCESSORS:
        return None
    template = pod.labels.get(TEMPLATE_HASH)
    if owner.kind == "ReplicaSet" and template and owner.name.endswith(f"-{template}"):
        return pod.namespace, "Deployment", owner.name.removesuffix(f"-{template}")
    identity = pod.name if owner.kind == STABLE_NAMES else pod.labels.get(COMPLETION_INDEX, "")
    return pod.namespace, owner.uid or owner.name, identity


@dataclass(frozen=True, slots=True)
class Place:
    """A node that a pod has left, and the time."""

    lineage: Hashable
    predecessor: str  # its uid
    node: str
    since: float


class VacantPlaces:
    """The vacant places of each lineage: one for each pod that was not replaced yet."""

    def __init__(self) -> None:
        self._places: OrderedDict[str, Place] = OrderedDict()  # by predecessor, the oldest first
        self._by_lineage: dict[Hashable, dict[str, Place]] = {}
        self._taken: OrderedDict[str, Place] = OrderedDict()  # by successor
        self._replaced: dict[str, str] = {}  # from predecessor to successor, for taken places

    def __len__(self) -> int:
        return len(self._places)

    def of(self, lineage: Hashable) -> Iterator[Place]:
        """Yield the vacant places of a lineage, the oldest first."""
        yield from self._by_lineage.get(lineage, {}).values()

    def pod_placed(self, pod: Pod, now: float) -> None:
        """Assign a vacant place to a pod; for a terminating pod, mark its own place as vacant."""
        kin = lineage(pod)
        if kin is None:
            return
        if not _is_leaving(pod):
            self._take(pod.uid, pod.node_name, kin)
        elif pod.uid not in self._places and pod.uid not in self._replaced:
            self._add(Place(kin, pod.uid, pod.node_name, now))

    def pod_left(self, pod: Pod, now: float) -> None:
        """Keep the place of a pod that ran there; a pod that was never bound returns the place that it took."""
        kin = lineage(pod)
        if kin is None or _is_leaving(pod):
            return
        if pod.spec.node_name:
            self._add(Place(kin, pod.uid, pod.node_name, now))
        elif (taken := self._taken.pop(pod.uid, None)) is not None:
            self._replaced.pop(taken.predecessor, None)
            self._add(taken)

    def forget(self, place: Place) -> None:
        """Forget a place."""
        del self._places[place.predecessor]
        kept = self._by_lineage[place.lineage]
        del kept[place.predecessor]
        if not kept:
            del self._by_lineage[place.lineage]

    def recall(self, kin: Hashable, stays: Iterable[Stay]) -> None:
        """Replace the places of a lineage by those that follow from these stays."""
        for place in list(self.of(kin)):
            self.forget(place)
        came = [(stay.came, 1, stay) for stay in stays]
        left = [(max(stay.left, stay.came + INSTANT), 0, stay) for _, _, stay in came if stay.left is not None]
        for moment, is_coming, stay in sorted([*came, *left], key=lambda each: each[:2]):  # departures before arrivals
            if is_coming:
                self._take(stay.pod, stay.node, kin)
            else:
                self._add(Place(kin, stay.pod, stay.node, moment))

    def _take(self, uid: str, node: str, kin: Hashable) -> None:
        known = self._places.get(uid)
        if known is not None:
            self.forget(known)  # only an update of the pod
            return
        vacant = list(self.of(kin))
        if not vacant:
            return
        # A pod that went elsewhere still takes a place, since it replaces a missing pod.
        place = next((place for place in vacant if place.node == node), vacant[0])
        self.forget(place)
        self._taken[uid], self._replaced[place.predecessor] = place, uid
        if len(self._taken) > MOST_TAKEN:
            _, oldest = self._taken.popitem(last=False)
            self._replaced.pop(oldest.predecessor, None)

    def _add(self, place: Place) -> None:
        self._places[place.predecessor] = place
        self._by_lineage.setdefault(place.lineage, {})[place.predecessor] = place
        if len(self._places) > MOST_PLACES:
            self.forget(next(iter(self._places.values())))


def _is_leaving(pod: Pod) -> bool:
    return pod.is_terminating or pod.is_finished
