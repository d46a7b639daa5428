"""Streams of events: changes are looked for every half second while anybody follows, and told in batches.

         every 0.5 s                        its own deque, short
state ───────────────> Changes ──┬──────────────> stream ── made for its viewer ──> client
                         ring    └──────────────> stream      one that is behind starts again by `resync`
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from time import monotonic

import numpy as np

from pilotage.app.read_api.budget import Budget, Busy
from pilotage.app.read_api.rights import Forbidden, Unanswered
from pilotage.scheduling.decision_log import Decision, Expired
from pilotage.views.events import MOST_CHANGES, Changes, hello, resync, told
from pilotage.views.state import State
from pilotage.views.viewer import Viewer

MOST_STREAMS = 50
PERIOD = 0.5  # seconds between batches
BEAT = 15.0  # seconds of silence, after which a comment is sent
LOOK_AGAIN = 60.0  # seconds, after which rights are looked at again
LONGEST = 3600.0  # seconds of a stream
MOST_BEHIND = 8  # batches that wait for a slow client
MOST_KEPT = 120  # batches for clients that come back
MOST_PODS = 5_000  # waiting, beyond which no differences are told: to compare them would take too long

FindViewer = Callable[[], Awaitable[Viewer]]


class TooManyStreams(Exception):
    """No further stream is possible now."""


class _Follower:
    """One stream: what it has not been told yet."""

    def __init__(self) -> None:
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
    """Looks for changes, and hands them to all streams."""

    def __init__(self, state: State, revision: Callable[[], int], budget: Budget) -> None:
        self._state, self._revision, self._budget = state, revision, budget
        self._followers: set[_Follower] = set()
        self._ring: deque[Changes] = deque(maxlen=MOST_KEPT)
        self._seen: _Seen | None = None
        self._is_closed = asyncio.Event()
        self._idle_since = -MOST_KEPT * PERIOD

    @property
    def streams(self) -> int:
        """Return how many streams there are."""
        return len(self._followers)

    def close(self) -> None:
        """End all streams."""
        self._is_closed.set()
        for follower in self._followers:
            follower.news.set()

    async def run(self) -> None:
        """Look for changes for as long as anybody follows, and a minute longer for those who come back."""
        while True:
            await asyncio.sleep(PERIOD)
            if self._followers:
                self._idle_since = monotonic()
            elif self._seen is None or monotonic() - self._idle_since > MOST_KEPT * PERIOD:
                self._seen = None
                self._ring.clear()
                continue
            self.look()

    def look(self) -> None:
        """Look for changes now."""
        changes = self._budget.timed(self._changes)
        if changes is None or changes.is_empty:
            return
        self._ring.append(changes)
        for follower in self._followers:
            follower.put(changes)

    async def open(
        self, find: FindViewer, viewer: Viewer, topics: tuple[str, ...], last: int | None
    ) -> AsyncGenerator[bytes, None]:
        """Begin a stream behind a revision, or with what is now; TooManyStreams if there is no room for one."""
        if len(self._followers) >= MOST_STREAMS:
            raise TooManyStreams
        if self._seen is None:
            self._seen = self._look()
        follower = _Follower()
        if last is not None:
            self._resume(follower, last)
        pieces = self._told(follower, find, viewer, topics)
        await anext(pieces)  # from here on it is counted, and closing it counts it out
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

    async def _told(
        self, follower: _Follower, find: FindViewer, viewer: Viewer, topics: tuple[str, ...]
    ) -> AsyncGenerator[bytes, None]:
        ends, looks = monotonic() + LONGEST, monotonic() + LOOK_AGAIN
        self._followers.add(follower)
        try:
            yield b""
            yield hello(self._revision(), topics)
            while not self._is_closed.is_set() and monotonic() < ends:
                if monotonic() >= looks:
                    viewer, looks = await find(), monotonic() + LOOK_AGAIN
                if follower.is_lost:
                    follower.is_lost = False
                    follower.behind.clear()
                    yield resync(self._revision(), topics)
                elif follower.behind:
                    if piece := await self._piece(viewer, topics, follower.behind.popleft()):
                        yield piece
                elif not await _heard(follower.news):
                    yield b": beat\n\n"
        except (Forbidden, Unanswered):
            return  # what it may see now, its next try is told
        finally:
            self._followers.discard(follower)

    async def _piece(self, viewer: Viewer, topics: tuple[str, ...], changes: Changes) -> bytes:
        try:
            if self._budget.is_spent():
                return resync(changes.revision, topics)
            return await self._budget.run(told(self._state, viewer, topics, changes))
        except Busy:
            return resync(changes.revision, topics)

    # ------------------------------------------------------------------------------------------------------- looking

    def _look(self) -> "_Seen":
        state = self._state
        keys = state.queue.keys() if len(state.queue) <= MOST_PODS else None
        return _Seen(self._revision(), state.log.count, keys, state.cache.nodes().pods_version, state.log.hash)

    def _changes(self) -> Changes | None:
        before = self._seen
        now = self._seen = self._look()
        if before is None or now.revision == before.revision:
            return None
        decided = self._decided(before.decisions)
        waiting, left = _differences(before.keys, now.keys)
        if waiting is not None and decided is not None:
            tried = {each.key for _, each in decided} & (now.keys or set())
            waiting = [*dict.fromkeys((*waiting, *tried))]
        too_many = waiting is None or decided is None or len(waiting) + len(left) > MOST_CHANGES
        return Changes(
            before.revision,
            now.revision,
            decisions=decided,
            waiting=None if too_many else waiting,
            left=() if too_many else left,
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


class _Seen:
    """What there was at a revision."""

    def __init__(self, revision: int, decisions: int, keys: set[str] | None, pods_version: int, hash_: str) -> None:
        self.revision, self.decisions, self.keys = revision, decisions, keys
        self.pods_version, self.hash = pods_version, hash_


def _differences(before: set[str] | None, now: set[str] | None) -> tuple[list[str] | None, list[str]]:
    if before is None or now is None:
        return None, []
    return list(now - before), list(before - now)


async def _heard(news: asyncio.Event) -> bool:
    try:
        async with asyncio.timeout(BEAT):
            await news.wait()
    except TimeoutError:
        return False
    news.clear()
    return True
