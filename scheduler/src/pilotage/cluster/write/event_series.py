"""Detects repeated events; only a few repetitions of a series are written.

first ──> created ── again ──> series of 2 written ── again, again ──> counted locally
                                   ^                                      │ every half hour, and at its end
                                   └──────────────────────────────────────┘
"""

from collections import OrderedDict
from itertools import islice

from msgspec import Struct

from pilotage.cluster.write.event_objects import Subject

_MINUTE = 60_000_000_000
ENDS_AFTER = 6 * _MINUTE  # without a repetition, in nanoseconds
REFRESHED_AFTER = 30 * _MINUTE  # so that the server does not expire it
_MOST_REMEMBERED = 100_000


class RecordedEvent(Struct, gc=False, eq=False):
    """An event, its count, and the server's count."""

    subject: Subject
    note: str
    first: int
    last: int
    hold_until: float = 0.0  # by the loop's clock: until when it yields to binds
    count: int = 1
    written: int = 0  # the server's count; 0 if it has no such event
    written_at: int = 0
    is_queued: bool = False
    is_in_flight: bool = False

    @property
    def needs_writing(self) -> bool:
        """Return whether to write it now: at the first and the second occurrence."""
        return self.written == 0 or self.written == 1 < self.count

    @property
    def has_news(self) -> bool:
        """Return whether the server's count is behind."""
        return self.count > self.written


class EventSeries:
    """The events of the last minutes, by subject."""

    def __init__(self, most_remembered: int = _MOST_REMEMBERED) -> None:
        self._most_remembered = most_remembered
        # The least recently repeated first.
        self._events: OrderedDict[Subject, RecordedEvent] = OrderedDict()

    def __len__(self) -> int:
        return len(self._events)

    def seen_again(self, subject: Subject, now: int) -> RecordedEvent | None:
        """Count a repetition of an event and return it; None if it is not a recent one."""
        event = self._events.get(subject)
        if event is None or now - event.last > ENDS_AFTER:
            return None
        self._events.move_to_end(subject)
        event.count += 1
        event.last = now
        return event

    def remember(self, event: RecordedEvent) -> list[RecordedEvent]:
        """Remember a new event; returns the events evicted for it."""
        ended = [self._events.pop(event.subject)] if event.subject in self._events else []
        if len(self._events) >= self._most_remembered:
            ended.append(self._events.popitem(last=False)[1])
        self._events[event.subject] = event
        return ended

    def forget(self, event: RecordedEvent) -> None:
        """Forget an event, so that its next occurrence counts as the first."""
        if self._events.get(event.subject) is event:
            del self._events[event.subject]

    def take_ended(self, now: int, most: int) -> list[RecordedEvent]:
        """Forget events that were not repeated recently, and return up to a number of them."""
        ended = [event for event in islice(self._events.values(), most) if now - event.last > ENDS_AFTER]
        for event in ended:
            del self._events[event.subject]
        return ended

    def all(self) -> list[RecordedEvent]:
        """Return all remembered events."""
        return list(self._events.values())


def is_stale(event: RecordedEvent, now: int) -> bool:
    """Return whether a series was last written so long ago that it should be written again."""
    return event.written > 1 and now - event.written_at >= REFRESHED_AFTER
