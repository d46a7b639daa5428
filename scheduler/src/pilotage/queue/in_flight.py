"""Pods in flight, and the events since they were taken."""

from collections import Counter, OrderedDict, deque
from collections.abc import Iterable
from typing import Any, NamedTuple

from pilotage.framework.api.events import Event
from pilotage.model.pod import Pod


class InFlightEvent(NamedTuple):
    """An event with its old and new object, None where there is none."""

    number: int
    event: Event
    old: Any
    new: Any


class InFlight:
    """Remembers events as long as a pod that was taken before them is in flight."""

    def __init__(self) -> None:
        self._taken: OrderedDict[str, int] = OrderedDict()  # uid -> number; the oldest comes first
        self._pods: dict[str, Pod] = {}  # the same pods, as they were taken
        self._events: deque[InFlightEvent] = deque()
        self._number = 0

    def __len__(self) -> int:
        return len(self._taken)

    def __contains__(self, uid: str) -> bool:
        return uid in self._taken

    def pods(self) -> list[Pod]:
        """Return the pods in flight as they were taken, the oldest first."""
        return list(self._pods.values())

    def start(self, pod: Pod) -> None:
        """Start remembering events for this pod."""
        self._number += 1
        self._taken[pod.uid] = self._number
        self._pods[pod.uid] = pod

    def done(self, uid: str) -> None:
        """Forget the pod, and events that no other pod needs."""
        if self._taken.pop(uid, None) is None:
            return
        del self._pods[uid]
        oldest = next(iter(self._taken.values()), self._number + 1)
        while self._events and self._events[0].number < oldest:
            self._events.popleft()

    def note(self, event: Event, old: Any, new: Any) -> None:
        """Remember an event, if any pod is in flight."""
        if self._taken:
            self._number += 1
            self._events.append(InFlightEvent(self._number, event, old, new))

    def note_for(self, uid: str, events: Iterable[Event], old: Any, new: Any) -> bool:
        """Remember an event of a pod, and return whether it is in flight."""
        if uid not in self._taken:
            return False
        for event in events:
            self.note(event, old, new)
        return True

    def since_taken(self, uid: str) -> list[InFlightEvent] | None:
        """Return the events since the pod was taken, in order; None if it is not in flight."""
        taken = self._taken.get(uid)
        return None if taken is None else [each for each in self._events if each.number > taken]

    def counts(self) -> Counter[str]:
        """Return how many events and pods are remembered, by the names that metrics use."""
        found = Counter(each.event.name for each in self._events)
        found["PodPopped"] = len(self._taken)
        return found
