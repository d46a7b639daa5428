"""Plain LIST requests, in pages if the server must read etcd; items are decoded as they arrive."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Generic, Protocol

import msgspec
from msgspec import Struct

from pilotage.cluster.transport.api_errors import ApiError, OutcomeUnknown
from pilotage.cluster.watch.known_objects import KnownObjects
from pilotage.cluster.watch.large_objects import LARGE, LargeReader
from pilotage.cluster.watch.list_items import ListItems
from pilotage.cluster.watch.resources import ApiResource, T
from pilotage.cluster.watch.watch_events import NOT_JSON, EventReader, UndecodableObject
from pilotage.cluster.watch.watch_lines import BrokenStream, TooLong
from pilotage.cluster.watch.watch_stream import ChunkStream, Silence, read
from pilotage.cluster.write.turn import Turn

log = logging.getLogger(__name__)

PAGE = 500
LIST_TIMEOUT = 120.0  # seconds until the response starts, and between two chunks
TIMED_OUT = 504  # the status of a list that takes too long before the response starts

Item = bytes | TooLong


class GetApi(Protocol):
    """The interface of the API client for reading single objects."""

    async def get(self, path: str, query: Mapping[str, str] = ..., *, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
        """Return the answer to a GET."""


class WatchApi(GetApi, Protocol):
    """The interface of the API client for lists and watches."""

    def stream(self, path: str, query: Mapping[str, str], *, timeout: float | None = None) -> ChunkStream:
        """Open a stream of chunks; the time-out applies to its start."""


class _ListMetadata(Struct, gc=False, rename="camel"):
    resource_version: str = ""
    next_page: str = msgspec.field(default="", name="continue")


class _Answer(Struct, gc=False):
    metadata: _ListMetadata | None = None


_answer = msgspec.json.Decoder(_Answer).decode


def _metadata(body: bytes) -> _ListMetadata | None:
    try:
        return _answer(body).metadata
    except NOT_JSON as error:
        raise BrokenStream(f"a response that is not a list: {error}") from None


def _there(metadata: _ListMetadata | None) -> _ListMetadata:
    if metadata is None:
        raise BrokenStream("a response that is not a list: it has no metadata")
    return metadata


def is_expired(error: ApiError) -> bool:
    """Return whether the requested version is too old, or too new."""
    if error.status == 410 or error.reason in ("Expired", "Gone"):
        return True
    return "Too large resource version" in error.message


async def read_answer(
    api: WatchApi,
    path: str,
    query: Mapping[str, str],
    take: Callable[[Item], Awaitable[None]],
    patience: float = LIST_TIMEOUT,
) -> _ListMetadata | None:
    """Yield the items of one response as they arrive; OutcomeUnknown if it breaks, BrokenStream if invalid."""
    items = ListItems()

    async def take_all(found: list[Item]) -> None:
        for item in found:
            await take(item)

    try:
        await read(api.stream(path, query, timeout=patience), patience, items.split, take_all)
    except Silence as error:
        raise OutcomeUnknown(str(error)) from None
    return _metadata(items.frame())


class Lister(Generic[T]):
    """Lists one resource."""

    def __init__(self, api: WatchApi, resource: ApiResource[T], reader: EventReader[T]) -> None:
        self._api = api
        self._resource = resource
        self._reader = reader
        self._large = LargeReader(reader)
        self._is_too_large = False  # for one response, by experience
        self.skipped = 0  # received items that were too large to decode

    async def list(self, version: str) -> tuple[KnownObjects[T], str]:
        """Return all objects and their version, not older than the given one; "" requests the newest."""
        # The server's watch cache returns everything at once. For reads from etcd, pages reduce the load; a continue
        # token can expire, and then only a complete list is left.
        queries = [{"limit": str(PAGE)}, {}]
        if version and not self._is_too_large:
            queries.insert(0, {"resourceVersion": version})
        for query in queries[:-1]:
            try:
                return await self._list(query)
            except ApiError as error:
                if not is_expired(error):
                    raise
        return await self._list(queries[-1])

    async def newest_version(self) -> str:
        """Return the server's current version."""
        query = {**self._resource.selection, "limit": "1"}
        return _there(_metadata(await self._api.get(self._resource.path, query))).resource_version

    async def _list(self, query: Mapping[str, str]) -> tuple[KnownObjects[T], str]:
        try:
            return await self._read(query)
        except OutcomeUnknown:
            self._is_too_large = "limit" not in query
            raise

    async def _read(self, query: Mapping[str, str]) -> tuple[KnownObjects[T], str]:
        found: KnownObjects[T] = KnownObjects()
        turn = Turn()
        while True:
            page = int(query.get("limit", "0"))
            try:
                answer = await self._read_page(query, found, turn)
            except (OutcomeUnknown, ApiError) as error:
                if page <= 1 or not _may_be_too_much(error):
                    raise
                log.warning("%s: halving a page of %d: %s", self._resource, page, error)
                query = {**query, "limit": str(page // 2)}
                continue
            if not answer.next_page:
                return found, answer.resource_version
            query = {"limit": str(min(2 * page, PAGE) or PAGE), "continue": answer.next_page}

    async def _read_page(self, query: Mapping[str, str], found: KnownObjects[T], turn: Turn) -> _ListMetadata:
        async def take(item: Item) -> None:
            await self._take(found, item, turn)

        turn.resume()
        return _there(await read_answer(self._api, self._resource.path, {**self._resource.selection, **query}, take))

    async def _take(self, found: KnownObjects[T], item: Item, turn: Turn) -> None:
        self.skipped += isinstance(item, TooLong)
        try:
            if isinstance(item, TooLong) or len(item) >= LARGE:
                each = await self._large.object(item, turn.give_way)
            else:
                each = self._reader.object(item)
        except BrokenStream as error:
            log.warning("%s: skipped %s", self._resource, error)
            return
        if isinstance(each, UndecodableObject):
            found.lose(each)
        else:
            found.put(each)
        if turn.step():
            await turn.give_way()


def _may_be_too_much(error: OutcomeUnknown | ApiError) -> bool:
    """Return whether a response may have failed because of its size."""
    return isinstance(error, OutcomeUnknown) or (error.status == TIMED_OUT and not is_expired(error))
