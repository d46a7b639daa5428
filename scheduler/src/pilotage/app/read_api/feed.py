"""Streams of events: changes are collected every half second, and encoded once for each audience.

         every 0.5 s                once for each audience      its own deque, short
state ───────────────> Changes ──┬────────> bytes ────────┬──────────────> stream ──> client
                         ring    └────────> bytes         └──────────────> stream     one that is behind gets `resync`
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from time import monotonic
from typing import NamedTuple

import numpy as np

from pilotage.app.read_api.budget import Budget, Busy
from pilotage.app.read_api.rights import Forbidden, Unanswered
from pilotage.app.read_api.shared_answers import SharedAnswers
from pilotage.scheduling.decision_log import Decision, Expired
from pilotage.telemetry.measured import Measured
from pilotage.views.events import MOST_CHANGES, Audience, Changes, hello, resync, told
from pilotage.views.state import State
from pilotage.views.viewer import Viewer

MOST_STREAMS = 50
PERIOD = 0.5  # seconds between batches
BEAT = 15.0  # seconds without an event, after which a comment is sent
LOOK_AGAIN = 60.0  # seconds between two checks of a user's rights
LONGEST = 3600.0  # seconds of a stream
MOST_BEHIND = 8  # batches that wait for a slow client
MOST_KEPT = 120  # batches for clients that reconnect
FREED_AT_ONCE = 4  # batches
WOKEN_AT_ONCE = 3  # streams in a turn of the event loop

FindViewer = Callable[[], Awaitable[Viewer]]


class TooManyStreams(Exception):
    """The limit of open streams is reached."""


class _Follower:
    """One stream, and the batches that it has not sent yet."""

    def __init__(self, audience: Audience) -> None:
        self.audience = audience
        self.behind: deque[Changes] = deque()
        self.is_lost = False
        self.news = asyncio.Event()

    def put(self, changes: Changes) -> None:
        if len(self.behind) >= MOST_BEHIND:
            self.behind.clear()
            self.is_lost = True
        self.behind.append(changes)
        self.news.set()


class Feed:
    """Collects changes for all streams."""

    def __init__(self, state: State, revision: Callable[[], int], budget: Budget, shared: SharedAnswers) -> None:
        self._state, self._revision, self._budget, self._shared = state, revision, budget, shared
        self._followers: set[_Follower] = set()
        self._ring: deque[Changes] = deque(maxlen=MOST_KEPT)
        self._past: deque[Changes] = deque()  # to be freed
        self._seen: _Seen | None = None
        self._is_closed = asyncio.Event()
        self._idle_since = -MOST_KEPT * PERIOD
        self.dropped = 0  # streams whose clients did not read

    @property
    def streams(self) -> int:
        """Return the number of streams."""
        return len(self._followers)

    def drop(self) -> None:
        """Count a stream whose client did not read."""
        self.dropped += 1

    def close(self) -> None:
        """End all streams."""
        self._is_closed.set()
        for follower in self._followers:
            follower.news.set()

    async def run(self) -> None:
        """Collect changes while there are streams, and a minute longer for clients that reconnect."""
        while True:
            await asyncio.sleep(PERIOD)
            await Measured(self._period(), self._budget.take)

    async def _period(self) -> None:
        self._state.tally.tend()
        self._shared.tend()
        if self._followers:
            self._idle_since = monotonic()
        elif self._seen is None or monotonic() - self._idle_since > MOST_KEPT * PERIOD:
            self._rest()
            return
        await self.look()

    def _rest(self) -> None:
        """Free what was collected, a little at a time."""
        self._seen = self._state.tally.news = None
        if self._ring:
            self._past, self._ring = self._ring, deque(maxlen=MOST_KEPT)
        for _ in range(min(FREED_AT_ONCE, len(self._past))):
            self._past.popleft()

    async def look(self) -> None:
        """Collect changes, and pass them to all streams."""
        try:
            await self._budget.run(self._state.tally.settle(), PERIOD)
        except Busy:
            return  # the next batch has more
        changes = self._changes()
        if changes is None or changes.is_empty:
            return
        self._ring.append(changes)
        self._shared.announced = changes.revision
        for audience in {follower.audience for follower in self._followers}:
            await self._write(changes, audience)
        for number, follower in enumerate(list(self._followers)):
            follower.put(changes)
            if number % WOKEN_AT_ONCE == 0:
                await asyncio.sleep(0)  # all at once would delay a pod by milliseconds

    async def _write(self, changes: Changes, audience: Audience) -> bytes:
        """Return changes encoded for an audience; a resync if there is no time for that."""
        known = changes.told.get(audience)
        if known is None:
            try:
                known = await self._budget.run(told(self._state, audience, changes), PERIOD)
            except Busy:
                known = changes.told[audience] = resync(changes.revision, audience.topics)
        return known

    async def open(self, find: FindViewer, audience: Audience, last: int | None) -> AsyncGenerator[bytes, None]:
        """Open a stream that begins after a revision, or now; TooManyStreams."""
        if len(self._followers) >= MOST_STREAMS:
            raise TooManyStreams
        if self._seen is None:
            await self._budget.run(self._state.tally.settle())
            self._seen = self._look()
        follower = _Follower(audience)
        if last is not None:
            self._resume(follower, last)
        pieces = self._told(follower, find)
        await anext(pieces)  # it is counted from here on, until it is closed
        return pieces

    def _resume(self, follower: _Follower, last: int) -> None:
        known = [changes for changes in self._ring if changes.before >= last]
        oldest = self._ring[0].before if self._ring else self._revision()
        newest = self._ring[-1].revision if self._ring else oldest
        if not oldest <= last <= max(newest, self._revision()) or len(known) > MOST_BEHIND:
            follower.is_lost = True
            return
        for changes in known:
            follower.put(changes)

    async def _told(self, follower: _Follower, find: FindViewer) -> AsyncGenerator[bytes, None]:
        ends, looks, topics = monotonic() + LONGEST, monotonic() + LOOK_AGAIN, follower.audience.topics
        self._followers.add(follower)
        try:
            yield b""
            yield hello(self._revision(), topics)
            while not self._is_closed.is_set() and monotonic() < ends:
                if monotonic() >= looks:
                    follower.audience = follower.audience._replace(viewer=await find())
                    looks = monotonic() + LOOK_AGAIN
                if follower.is_lost:
                    follower.is_lost = False
                    follower.behind.clear()
                    yield resync(self._revision(), topics)
                elif follower.behind:
                    if piece := await self._write(follower.behind.popleft(), follower.audience):
                        yield piece
                elif not await _heard(follower.news):
                    yield b": beat\n\n"
        except (Forbidden, Unanswered):
            return  # its next request gets the answer
        finally:
            self._followers.discard(follower)

    # ---------------------------------------------------------------------------------------------------- collecting

    def _look(self) -> "_Seen":
        """Return the current state, and start collecting."""
        state = self._state
        news, state.tally.news = state.tally.news, {}
        return _Seen(self._revision(), state.log.count, state.cache.nodes().pods_version, state.log.hash, news)

    def _changes(self) -> Changes | None:
        before = self._seen
        now = self._seen = self._look()
        if before is None or now.revision == before.revision:
            return None
        waiting: list[str] | None = None
        left: list[str] = []
        if now.news is not None and len(now.news) <= MOST_CHANGES:
            find = self._state.queue.find
            waiting = [key for key in now.news if find(key) is not None]
            left = [key for key in now.news if find(key) is None]
        return Changes(
            before.revision,
            now.revision,
            decisions=self._decided(before.decisions),
            waiting=waiting,
            left=left,
            nodes=self._changed_nodes(before.pods_version),
            profiles=tuple(self._state.engines) if now.hash != before.hash else (),
        )

    def _decided(self, since: int) -> list[tuple[int, Decision]] | None:
        if self._state.log.count - since > MOST_CHANGES:
            return None
        try:
            return self._state.log.since(since)
        except Expired:
            return None

    def _changed_nodes(self, since: int) -> list[str] | None:
        nodes = self._state.cache.nodes()
        slots = nodes.changed_since(since)
        if slots is None or len(slots) > MOST_CHANGES:
            return None
        return [nodes[int(slot)].name for slot in np.unique(slots) if slot < len(nodes)]


class _Seen(NamedTuple):
    """The state at a revision, and the pending pods that changed before it."""

    revision: int
    decisions: int
    pods_version: int
    hash: str
    news: dict[str, None] | None


async def _heard(news: asyncio.Event) -> bool:
    try:
        async with asyncio.timeout(BEAT):
            await news.wait()
    except TimeoutError:
        return False
    news.clear()
    return True
