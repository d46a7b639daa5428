"""A plain LIST of a resource, in pages where the server would have to ask etcd."""

import logging
from collections.abc import Mapping
from typing import Generic, Protocol

import msgspec
from msgspec import Raw, Struct

from pilotage.cluster.api_errors import ApiError, OutcomeUnknown
from pilotage.cluster.known_objects import KnownObjects
from pilotage.cluster.resources import ApiResource, T
from pilotage.cluster.turn import Turn
from pilotage.cluster.watch_events import NOT_JSON, EventReader, UndecodableObject
from pilotage.cluster.watch_lines import BrokenStream

log = logging.getLogger(__name__)

PAGE = 500
LIST_TIMEOUT = 120.0  # seconds; a hundred thousand pods take a while


class GetApi(Protocol):
    """What a list asks of a client of the API."""

    async def get(self, path: str, query: Mapping[str, str] = ..., *, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
        """Return the answer to a GET."""


class _ListMetadata(Struct, gc=False, rename="camel"):
    resource_version: str = ""
    next_page: str = msgspec.field(default="", name="continue")


class _Answer(Struct, gc=False):
    metadata: _ListMetadata
    items: list[Raw] | None = None


_answer = msgspec.json.Decoder(_Answer).decode


def _decoded(body: bytes) -> _Answer:
    try:
        return _answer(body)
    except NOT_JSON as error:
        raise BrokenStream(f"an answer that is no list: {error}") from None


def is_expired(error: ApiError) -> bool:
    """Tell whether the version that was asked for is of no use any more, or not yet."""
    if error.status == 410 or error.reason in ("Expired", "Gone"):
        return True
    return "Too large resource version" in error.message


class Lister(Generic[T]):
    """Lists one resource."""

    def __init__(self, api: GetApi, resource: ApiResource[T], reader: EventReader[T]) -> None:
        self._api = api
        self._resource = resource
        self._reader = reader
        self._is_too_large = False  # for one answer, as far as we know

    async def list(self, version: str) -> tuple[KnownObjects[T], str]:
        """Return all objects and their version, not older than the given one; "" asks for the newest."""
        # From its memory the server answers at once and whole. From etcd it is asked for pages, to be spared; their
        # rest can expire, and then only the whole in one piece is left.
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
        """Return the version that the server has come to."""
        query = {**self._resource.selection, "limit": "1"}
        return _decoded(await self._api.get(self._resource.path, query)).metadata.resource_version

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
            body = await self._api.get(self._resource.path, {**self._resource.selection, **query}, timeout=LIST_TIMEOUT)
            answer = _decoded(body)
            for raw in answer.items or ():
                self._take(found, raw)
                if turn.step():
                    await turn.give_way()
            if not answer.metadata.next_page:
                return found, answer.metadata.resource_version
            query = {"limit": str(PAGE), "continue": answer.metadata.next_page}

    def _take(self, found: KnownObjects[T], raw: Raw) -> None:
        try:
            each = self._reader.object(raw)
        except BrokenStream as error:
            log.warning("%s: skipped %s", self._resource, error)
            return
        if isinstance(each, UndecodableObject):
            found.lose(each)
        else:
            found.put(each)
