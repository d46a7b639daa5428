"""The queue of events to send: new ones before repetitions, limited in number."""

import asyncio
from collections import deque

from pilotage.cluster.write.event_series import RecordedEvent


class EventQueue:
    """Events waiting for a worker, each at most once; above the limit, the oldest repetition is dropped first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._new: deque[RecordedEvent] = deque()
        self._repeated: deque[RecordedEvent] = deque()
        self._tokens = asyncio.Semaphore(0)  # one for each waiting event

    def __len__(self) -> int:
        return len(self._new) + len(self._repeated)

    def put(self, event: RecordedEvent) -> RecordedEvent | None:
        """Add an event; returns the event dropped for it."""
        event.is_queued = True
        (self._repeated if event.written else self._new).append(event)
        if len(self) > self._most:
            return self._pop(self._repeated or self._new)
        self._tokens.release()
        return None

    async def get(self) -> RecordedEvent:
        """Wait for an event and remove it."""
        await self._tokens.acquire()
        return self._pop(self._new or self._repeated)

    def _pop(self, events: deque[RecordedEvent]) -> RecordedEvent:
        event = events.popleft()
        event.is_queued = False
        return event
