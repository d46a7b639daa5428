"""Lists and watches one resource of the API while the scheduler runs."""

import asyncio
import logging
import random
import time
from collections.abc import Callable, Mapping
from typing import Generic

from pilotage.cluster.transport.api_errors import ApiError, OutcomeUnknown, Unreachable
from pilotage.cluster.transport.retry_delay import RetryDelay
from pilotage.cluster.watch.known_objects import KnownObjects, Sink, version_number
from pilotage.cluster.watch.large_objects import LARGE, LargeReader
from pilotage.cluster.watch.listing import LIST_TIMEOUT, Lister, WatchApi, is_expired
from pilotage.cluster.watch.resources import ApiResource, T
from pilotage.cluster.watch.watch_events import (
    Bookmark,
    Deletion,
    EventReader,
    Notice,
    ServerError,
    Skipped,
    UndecodableObject,
)
from pilotage.cluster.watch.watch_lines import BrokenStream, TooLong
from pilotage.cluster.watch.watch_stream import BrokenOff, Silence, read_lines
from pilotage.cluster.write.turn import Turn

log = logging.getLogger(__name__)

PATIENCE = 75.0  # seconds; a bookmark arrives about once a minute, so longer silence means a dead connection
SHORT = 1.0  # seconds; a watch that ends sooner does not count as success
SETTLED = 30.0  # seconds; a server that expires a list sooner than this has a problem
LONGEST_RETRY_AFTER = 120.0  # seconds
MOST_FAILURES = 2  # in a row: of watches until a new list, of streamed lists until a plain one
# The status of a server that does not support streamed lists, or does not allow them.
NOT_STREAMED = {400, 403, 405, 406, 415, 422, 501}
TOO_MANY_REQUESTS = 429
ABSENT = {403, 404}  # the status for a resource that is not served, or not allowed
ABSENT_AFTER = 60.0  # seconds; a server that has just started may return it for resources that it will serve soon
CONNECTION_LOST = (OutcomeUnknown, OSError, Silence)
EXPECTED = (ApiError, BrokenStream, BrokenOff, Unreachable, *CONNECTION_LOST)

ADVICE = {
    401: "the API server does not accept our credentials: check the token or certificate",
    403: "our role lacks a rule: allow list and watch of {}",
    404: "the API server does not serve {}: it is too old, or this API is disabled",
}


class NotStreamed(Exception):
    """The server does not support streamed lists."""


class Reflector(Generic[T]):
    """Keeps a sink up to date with one resource, whatever happens to the API server.

    streamed list ─────► watch ──► watch from the last version (end of stream, silence, connection lost, one error)
      ▲      └──► list ──►┤
      └───────────────────┴── version too old, a line that is not an event, two errors in a row
    """

    def __init__(
        self,
        api: WatchApi,
        resource: ApiResource[T],
        sink: Sink[T],
        *,
        patience: float = PATIENCE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.resource = resource
        self.trouble = ""  # why the view may be out of date, "" if it is not
        self.lists = self.streamed_lists = self.watches = self.events = self.errors = 0
        self._api = api
        self._known = KnownObjects(sink, resource.outlasts)
        self._reader = EventReader(resource)
        self._large = LargeReader(self._reader)
        self._lister = Lister(api, resource, self._reader)
        self._patience = patience
        self._clock = clock
        self._delay = RetryDelay(clock=clock)
        self._turn = Turn()
        self._synced = asyncio.Event()
        self._heard = self._began = self._listed = clock()
        self._has_sent_events = False  # the open watch has sent events, after its list if it started with one
        self._version: str | None = None  # None: nothing was ever listed; "": only a list of the newest state is valid
        self._needs_list = True
        self._listing: KnownObjects[T] | None = None  # what a streamed list has delivered so far
        self._failed_watches = self._failed_streams = self._skipped = 0
        self._is_unsure = False  # silence may mean that the server has not reached our version
        self._absent_since: float | None = None  # when the server first reported that the resource does not exist

    @property
    def objects(self) -> Mapping[str, T]:
        """The objects in their last known state, by namespace/name or name."""
        return self._known.objects

    @property
    def undecodable(self) -> Mapping[str, UndecodableObject]:
        """The objects that exist and cannot be decoded, by namespace/name or name."""
        return self._known.undecodable

    @property
    def duplicates(self) -> int:
        """The number of events dropped as duplicates."""
        return self._known.duplicates

    @property
    def sink_errors(self) -> int:
        """The number of changes that the sink failed to process."""
        return self._known.sink_errors

    @property
    def skipped(self) -> int:
        """The number of received objects that were too large to decode."""
        return self._skipped + self._lister.skipped

    @property
    def is_synced(self) -> bool:
        """Return whether a first complete list was delivered."""
        return self._synced.is_set()

    async def wait_until_synced(self) -> None:
        """Wait for the first complete list."""
        await self._synced.wait()

    def expire(self) -> None:
        """Start with a new list on the next run; until it is complete, the reflector is not synced."""
        self._version, self._needs_list = "", True
        self._synced.clear()

    def seconds_silent(self) -> float:
        """Return the seconds since the API server last sent anything, including bookmarks."""
        return self._clock() - self._heard

    async def run(self) -> None:
        """List and watch until cancelled; no error ends it."""
        while True:
            try:
                if self._needs_list:
                    await self._list()
                elif self._is_unsure:
                    await self._make_sure()
                else:
                    await self._watch({"resourceVersion": self._version or ""})
            except Exception as error:
                if self.resource.optional and getattr(error, "status", 0) in ABSENT:
                    await self._do_without()
                await asyncio.sleep(self._pause_after(error))

    async def _list(self) -> None:
        if self._failed_streams < MOST_FAILURES:
            try:
                await self._list_and_watch()
            except NotStreamed as reason:
                log.info("%s: using a plain list instead of a streamed one: %s", self.resource, reason)
            else:
                return
        self._began = self._clock()
        found, version = await self._lister.list("0" if self._version is None else self._version)
        self._heard = self._clock()
        self.lists += 1
        await self._deliver(found, version)

    async def _list_and_watch(self) -> None:
        self._listing = KnownObjects()
        query = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        try:
            await self._watch({**query, "resourceVersion": self._version or ""})
            if self._needs_list:
                raise BrokenOff("the stream ended before its list was complete")
        except ApiError as error:
            if self._needs_list and error.status in NOT_STREAMED:
                raise NotStreamed(str(error)) from None
            raise
        finally:
            self._listing = None

    async def _watch(self, query: Mapping[str, str]) -> None:
        self.watches += 1
        self._began, self._has_sent_events = self._clock(), False
        common = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(random.randrange(300, 600)),  # noqa: S311 - spreads load, keeps no secret
        }
        stream = self._api.stream(self.resource.path, {**self.resource.selection, **common, **query})
        try:
            await read_lines(stream, self._patience, self._take)
        except Silence:
            if self._needs_list or self._has_sent_events:
                raise
            # Not every server sends bookmarks immediately, or at all, for a resource without changes.
            self._is_unsure = True
            return
        if not self._has_sent_events and self._clock() - self._began < SHORT:
            raise BrokenOff("the watch ended immediately")

    async def _make_sure(self) -> None:
        """Determine whether a silent server has no events, or has not reached the version that we watch from."""
        self._follow(await self._lister.newest_version())
        self._is_unsure = False

    async def _take(self, lines: list[bytes | TooLong]) -> None:
        self._heard = self._clock()
        read, turn = self._reader.event, self._turn
        turn.resume()
        was_listing = self._listing is not None
        for line in lines:
            if isinstance(line, TooLong) or len(line) >= LARGE:
                event = await self._read_large(line)
            else:
                event = read(line)
            if self._listing is None:
                self._apply(event)
            elif version := self._gather(event, self._listing):
                listing, self._listing = self._listing, None
                self.streamed_lists += 1
                await self._deliver(listing, version)
            if turn.step():
                await turn.give_way()
        turn.pause()
        if lines:
            self.events += len(lines)
            self._failed_watches = 0
            self._has_sent_events = not was_listing
        if self._listing is None:
            self._recover()

    async def _read_large(self, line: bytes | TooLong) -> T | Notice:
        event = await self._large.event(line, self._turn.give_way)
        self._skipped += isinstance(line, TooLong)
        if isinstance(event, Skipped):
            log.error("%s: skipped %s", self.resource, event.reason)
        return event

    def _apply(self, event: T | Notice) -> None:
        if isinstance(event, Bookmark):
            self._follow(event.version)
            self._version = event.version
        elif _tell(self._known, event):
            self._version = event.metadata.resource_version  # type: ignore[union-attr]  # what is delivered has metadata

    def _gather(self, event: T | Notice, listing: KnownObjects[T]) -> str:
        """Add to the initial list of a stream; returns its version once it is complete."""
        if not isinstance(event, Bookmark):
            _tell(listing, event)
        elif event.ends_list:
            return event.version
        elif self._clock() - self._began > LIST_TIMEOUT:
            raise NotStreamed("the list at the beginning of the stream does not end")
        return ""

    def _follow(self, version: str) -> None:
        if 0 <= version_number(version) < version_number(self._version or ""):
            # The server would send no events until it reaches the version that we have seen.
            self._version = ""
            raise BrokenStream("the server returned to an older version, as after a restore of etcd")

    async def _deliver(self, found: KnownObjects[T], version: str) -> None:
        await self._known.replace(found, version)
        self._listed = self._clock()
        self._version, self._needs_list = version, False
        self._failed_watches = self._failed_streams = 0
        self._is_unsure, self._absent_since = False, None
        self._synced.set()
        self._recover()

    async def _do_without(self) -> None:
        """Assume that there are no objects until the server lists some, so that plugins do not wait for them."""
        now = self._clock()
        self._absent_since = now if self._absent_since is None else self._absent_since
        if not self.is_synced or now - self._absent_since >= ABSENT_AFTER:
            await self._known.replace(KnownObjects(), "")
            self._version, self._needs_list = "", True
            self._synced.set()

    def _recover(self) -> None:
        if self.trouble:
            log.info("%s: up to date again", self.resource)
            self.trouble = ""

    def _pause_after(self, error: Exception) -> float:
        """Choose the next step after an error, and return the delay in seconds."""
        self.errors += 1
        self._note(error)
        is_out_of_date = False  # the server is healthy, and only a new list is needed
        if isinstance(error, ApiError) and is_expired(error):
            is_out_of_date = not self._needs_list and self._clock() - self._listed >= SETTLED
            self._version, self._needs_list = "", True
        elif isinstance(error, BrokenStream):
            self._needs_list, self._failed_streams = True, MOST_FAILURES  # streamed lists may break too
        elif not isinstance(error, Unreachable) and getattr(error, "status", 0) != TOO_MANY_REQUESTS:
            self._count_failure(is_lost=isinstance(error, CONNECTION_LOST))
        if isinstance(error, ApiError) and error.retry_after is not None:
            return min(error.retry_after, LONGEST_RETRY_AFTER)
        if is_out_of_date:
            return 0.0
        if isinstance(error, CONNECTION_LOST) and not self._needs_list and self._clock() - self._began >= SHORT:
            return 0.0  # the watch worked; if the server is down, the next try will show it
        return self._delay.next()

    def _count_failure(self, *, is_lost: bool) -> None:
        if self._needs_list:
            self._failed_streams += 1
        elif not is_lost:
            self._failed_watches += 1
            self._needs_list = self._failed_watches >= MOST_FAILURES

    def _note(self, error: Exception) -> None:
        text = f"{type(error).__name__}: {error}"
        if isinstance(error, ApiError) and error.status in ADVICE:
            text = f"{ADVICE[error.status].format(self.resource)} ({error})"
        if not isinstance(error, EXPECTED):
            log.error("%s: %s", self.resource, text, exc_info=error)
        elif text != self.trouble:
            log.warning("%s: %r; trying again", self.resource, text)
        self.trouble = text


def _tell(known: KnownObjects[T], event: T | Notice) -> bool:
    if not isinstance(event, Notice):
        return known.put(event)
    if isinstance(event, Deletion):
        return known.remove(event.metadata)
    if isinstance(event, UndecodableObject):
        return known.lose(event)
    if isinstance(event, Skipped):
        return False
    assert isinstance(event, ServerError)
    raise event.error
