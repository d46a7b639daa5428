"""Pods that are being tried right now, and what has happened since they were taken."""

from collections import Counter, OrderedDict, deque
from collections.abc import Iterable
from typing import Any, NamedTuple

from pilotage.framework.api.events import Event


class Happening(NamedTuple):
    """An event and its objects, None where there is none."""

    number: int
    event: Event
    old: Any
    new: Any


class InFlight:
    """Remembers events for as long as a pod is in flight that was taken before them."""

    def __init__(self) -> None:
        self._taken: OrderedDict[str, int] = OrderedDict()  # uid -> number; the oldest comes first
        self._happenings: deque[Happening] = deque()
        self._number = 0

    def __len__(self) -> int:
        return len(self._taken)

    def __contains__(self, uid: str) -> bool:
        return uid in self._taken

    def start(self, uid: str) -> None:
        """Remember from now on what happens, for this pod."""
        self._number += 1
        self._taken[uid] = self._number

    def done(self, uid: str) -> None:
        """Forget the pod, and what nobody else needs."""
        if self._taken.pop(uid, None) is None:
            return
        oldest = next(iter(self._taken.values()), self._number + 1)
        while self._happenings and self._happenings[0].number < oldest:
            self._happenings.popleft()

    def note(self, event: Event, old: Any, new: Any) -> None:
        """Remember an event, if there is anybody to remember it for."""
        if self._taken:
            self._number += 1
            self._happenings.append(Happening(self._number, event, old, new))

    def note_for(self, uid: str, events: Iterable[Event], old: Any, new: Any) -> bool:
        """Remember what happened to a pod in flight, and return whether it is."""
        if uid not in self._taken:
            return False
        for event in events:
            self.note(event, old, new)
        return True

    def since_taken(self, uid: str) -> list[Happening] | None:
        """Return what has happened since the pod was taken, in order; None if it is not in flight."""
        taken = self._taken.get(uid)
        return None if taken is None else [each for each in self._happenings if each.number > taken]

    def counts(self) -> Counter[str]:
        """Return how many events and pods are remembered, by the names that metrics use."""
        found = Counter(each.event.name for each in self._happenings)
        found["PodPopped"] = len(self._taken)
        return found
