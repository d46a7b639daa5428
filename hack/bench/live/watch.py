"""A watch that resumes where it ended: a busy API server drops clients that it cannot serve at once."""

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec

from bench.live.connection import PROTOBUF, Connection, Door, Stream
from bench.live.objects import Write
from localcluster.errors import Problem

T = TypeVar("T")
PAUSE_SECONDS = 0.05


class Sight(msgspec.Struct, Generic[T]):
    """One event: what happened to which object, and where to go on after it."""

    kind: str
    version: str
    object: T


class _ListMetadata(msgspec.Struct, rename="camel"):
    resource_version: str


class Listed(msgspec.Struct, Generic[T]):
    """What is there, and from where to watch it."""

    metadata: _ListMetadata
    items: list[T]


# It removes what it has read from the bytes.
Reader = Callable[[bytearray], list[Sight[T]]]
ListReader = Callable[[bytes], Listed[T]]


class Watch(Generic[T]):
    """What is in a collection, then all changes of it."""

    def __init__(
        self,
        door: Door,
        path: str,
        read_list: ListReader[T],
        read: Reader[T],
        see: Callable[[list[Sight[T]]], None],
        *,
        as_protobuf: bool = False,
    ) -> None:
        self._door = door
        self._path = path
        self._read_list = read_list  # always JSON
        self._read = read
        self._see = see
        self._kind = PROTOBUF if as_protobuf else "application/json"
        self._version = ""  # nothing is known yet

    async def run(self) -> None:
        """Go on until cancelled."""
        while True:
            if not self._version:
                await self._list()
            path = f"{self._path}&watch=true&resourceVersion={self._version}"
            stream = await Stream.open(self._door, path, f"{self._kind};stream=watch", self._take)
            try:
                await stream.ended
            finally:
                stream.close()
            await asyncio.sleep(PAUSE_SECONDS)

    async def _list(self) -> None:
        connection = await Connection.open(self._door, self._door.tls())
        answer = await connection.send(Write("GET", f"{self._path}&resourceVersion=0", b""))
        connection.close()
        if answer.status != 200:
            raise Problem(f"A list was refused: {answer.body.decode(errors='replace').strip()}")
        found = self._read_list(answer.body)
        self._version = found.metadata.resource_version
        self._see([Sight("ADDED", self._version, item) for item in found.items])

    def _take(self, received: bytearray) -> None:
        seen = self._read(received)
        if any(sight.kind == "ERROR" for sight in seen):
            self._version = ""  # too old: list again
        elif seen:
            self._version = seen[-1].version
            self._see(seen)
