"""Talks to the API server for the driver: many creators at once, and single requests."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager

from bench.live.connection import Answer, Connection, Door
from bench.live.objects import Write
from localcluster.errors import Problem

CREATORS = 30  # as upstream has
STRICT = "fieldValidation=Strict"


class Api:
    """Thirty connections of the creators, and one for everything else."""

    def __init__(self, creators: list[Connection], single: Connection) -> None:
        self._creators = creators
        self._single = single
        self._turn = asyncio.Lock()

    async def send(self, write: Write, *, accepted: tuple[int, ...] = (200, 201, 202)) -> Answer:
        """Send one request; a Problem with the server's message if it fails."""
        async with self._turn:
            return _checked(write, await self._single.send(write), accepted)

    async def ensure(self, write: Write) -> None:
        """Create what may already exist."""
        await self.send(write, accepted=(201, 409))

    async def create(self, items: Sequence[list[Write]], done: Callable[[str], None]) -> None:
        """Create everything as fast as it goes; of one item's requests each waits for the one before."""
        if items:
            await self._check_first(items[0], done)
        await self._share(items[1:], done)

    async def create_paced(self, items: Sequence[list[Write]], rate: float, done: Callable[[str], None]) -> None:
        """Create at a fixed rate, however long each takes."""
        queue: asyncio.Queue[list[Write] | None] = asyncio.Queue()
        async with asyncio.TaskGroup() as tasks:
            for connection in self._creators:
                tasks.create_task(_work_off(connection, queue, done))
            start = time.monotonic()
            for index, item in enumerate(items):
                await asyncio.sleep(max(0.0, start + index / rate - time.monotonic()))
                queue.put_nowait(item)
            for _ in self._creators:
                queue.put_nowait(None)

    async def _check_first(self, item: list[Write], done: Callable[[str], None]) -> None:
        # One of each kind is looked at closely: the server otherwise drops a field that it does not know.
        for write in item:
            strict = Write(write.method, f"{write.path}?{STRICT}", write.body, write.key)
            await self.send(strict)
        done(item[-1].key)

    async def _share(self, items: Iterable[list[Write]], done: Callable[[str], None]) -> None:
        left = iter(items)

        async def work(connection: Connection) -> None:
            for item in left:
                for write in item:
                    _checked(write, await connection.send(write))
                done(item[-1].key)

        async with asyncio.TaskGroup() as tasks:
            for connection in self._creators:
                tasks.create_task(work(connection))


@asynccontextmanager
async def connected(door: Door) -> AsyncIterator[Api]:
    """Open all connections, and close them afterwards."""
    tls = door.tls()
    opened = [await Connection.open(door, tls) for _ in range(CREATORS + 1)]
    try:
        yield Api(opened[1:], opened[0])
    finally:
        for connection in opened:
            connection.close()


async def _work_off(
    connection: Connection, queue: asyncio.Queue[list[Write] | None], done: Callable[[str], None]
) -> None:
    while (item := await queue.get()) is not None:
        for write in item:
            _checked(write, await connection.send(write))
        done(item[-1].key)


def _checked(write: Write, answer: Answer, accepted: tuple[int, ...] = (200, 201, 202)) -> Answer:
    if answer.status not in accepted:
        said = answer.body.decode(errors="replace").strip()[:600]
        raise Problem(f"{write.method} {write.path} was refused ({answer.status}): {said}")
    return answer
