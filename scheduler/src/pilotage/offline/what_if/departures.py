"""Pods that are evicted, by a drain, on request, or for a more important pod; and their replacements.

placed ── its budget allows it ──> gone ── its controller replaces it ──> waits ── placed: its budget is credited again
   │                                 └── it has no controller: lost
   └── its budget does not: blocked, until another pod of the budget has started elsewhere
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec

from pilotage.model.pod import Pod, PodObject
from pilotage.model.pod_status import PodStatus
from pilotage.offline.simulation import Simulation
from pilotage.offline.what_if.budgets import Budgets
from pilotage.offline.what_if.owners import is_made_again, is_of_its_node

AGAIN = "/again"  # ends the uid of a replacement


@dataclass(frozen=True)
class Departure:
    """A pod that is evicted, or should be and may not."""

    pod: Pod
    by: str  # drain n3, or the pod that takes its place
    budgets: tuple[str, ...] = ()  # that it counts for, each as namespace/name
    overdrawn: str = ""  # the one that did not allow it
    for_a_pod: bool = False  # that takes its place


@dataclass
class Departures:
    """All pods that go in a play."""

    simulation: Simulation
    budgets: Budgets
    gone: list[Departure] = field(default_factory=list)
    blocked: list[Departure] = field(default_factory=list)
    lost: list[Departure] = field(default_factory=list)  # no controller replaces them
    moved: dict[str, Departure] = field(default_factory=dict)  # that need another node, by namespace/name
    displaced: dict[str, Departure] = field(default_factory=dict)  # that make room for others, by namespace/name
    _for_whom: dict[str, Pod] = field(default_factory=dict)  # the preemptor, by its victim's namespace/name
    _coming: list[Pod] = field(default_factory=list)
    _replaced: set[str] = field(default_factory=set)  # whose budgets were credited again

    def __post_init__(self) -> None:
        """Listen for evictions."""
        self.simulation.on_evicting.connect(self._chosen)
        self.simulation.on_evicted.connect(self._evicted)

    def forget(self) -> None:
        """Start over: the evictions so far would have happened anyway."""
        for each in (self.gone, self.blocked, self.lost):
            each.clear()
        self.moved.clear()
        self.displaced.clear()

    def ask_to_go(self, pod: Pod, by: str) -> None:
        """Evict a pod if its budgets allow it; otherwise it is blocked until they do."""
        if is_of_its_node(pod):
            self.simulation.pods.deleted(pod)
        elif refusing := self.budgets.refusing(pod):
            self.blocked.append(Departure(pod, by, (refusing,), refusing))
        else:
            self._go(pod, by, tuple(self.budgets.charge(pod)))

    def must_go(self, pod: Pod, by: str) -> None:
        """Evict a pod regardless of its budgets: its node is gone, or it no longer tolerates the node."""
        if is_of_its_node(pod):
            self.simulation.pods.deleted(pod)
        else:
            self._go(pod, by, ())

    @property
    def lost_by_changes(self) -> list[Departure]:
        """Return the lost pods that did not make room for another pod."""
        return [each for each in self.lost if not each.for_a_pod]

    def bring_back(self) -> bool:
        """Let the replacements of evicted pods wait; False if there are none."""
        coming, self._coming = self._coming, []
        for pod in coming:
            self.simulation.add(pod)
        return bool(coming)

    def try_blocked(self) -> bool:
        """Evict blocked pods whose budgets allow it now that replacements have started; False if there are none."""
        self._return_room()
        waiting, self.blocked = self.blocked, []
        for each in waiting:
            self.ask_to_go(each.pod, each.by)
        return len(self.blocked) < len(waiting)

    def _return_room(self) -> None:
        for key, departure in self.moved.items():
            if key not in self._replaced and departure.budgets and self._runs(departure.pod):
                self._replaced.add(key)
                self.budgets.give_back(departure.pod)

    def _runs(self, pod: Pod) -> bool:
        return self.simulation.cache.find_pod(pod.uid + AGAIN) is not None

    def _go(self, pod: Pod, by: str, budgets: tuple[str, ...]) -> None:
        departure = Departure(pod, by, budgets)
        self.gone.append(departure)
        self.simulation.pods.deleted(pod)
        self._make_again(departure, self.moved)

    def _make_again(self, departure: Departure, among: dict[str, Departure]) -> None:
        pod = departure.pod
        if not is_made_again(pod) or pod.uid.endswith(AGAIN):
            self.lost.append(departure)
            return
        among[pod.key] = departure
        self._coming.append(_made_anew(pod))

    def _chosen(self, preemptor: Pod, victims: Iterable[str]) -> None:
        for key in victims:
            self._for_whom[key] = preemptor

    def _evicted(self, pod: Pod) -> None:
        by = self._for_whom.pop(pod.key, None)
        overdrawn = self.budgets.refusing(pod)
        budgets = tuple(self.budgets.charge(pod))
        departure = Departure(pod, "" if by is None else by.key, budgets, overdrawn, for_a_pod=True)
        self.gone.append(departure)
        self._make_again(departure, self.displaced)


def _made_anew(pod: Pod) -> Pod:
    """Return the replacement that a pod's controller creates; here it keeps the name by which users know it."""
    metadata = msgspec.structs.replace(pod.metadata, uid=pod.uid + AGAIN, deletion_timestamp=None)
    spec = msgspec.structs.replace(pod.spec, node_name="")
    return Pod(PodObject(metadata, spec, PodStatus()))
