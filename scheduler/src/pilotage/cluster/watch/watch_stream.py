"""A streaming response of the API server, and the detection of a dead one."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager

from pilotage.cluster.watch.watch_lines import TooLong, WatchLines

REARM = 1.0  # seconds; the silence timer need not be exact, and setting it for every chunk would cost time

ChunkStream = AbstractAsyncContextManager[AsyncIterator[bytes]]
Split = Callable[[bytes], list[bytes | TooLong]]
TakeAll = Callable[[list[bytes | TooLong]], Awaitable[None]]


class Silence(Exception):
    """The connection seems to be open, but nothing arrives."""


class BrokenOff(Exception):
    """The stream ended prematurely; what arrived before is complete."""


async def read_lines(stream: ChunkStream, patience: float, take: TakeAll) -> None:
    """Yield the lines of a stream as they arrive, up to its end; an empty list at first, when it is open."""
    lines = WatchLines()
    await read(stream, patience, lines.split, take)
    if not lines.is_between_lines:
        raise BrokenOff("the stream ended in the middle of a line")


async def read(stream: ChunkStream, patience: float, split: Split, take: TakeAll) -> None:
    """Yield what a stream is split into, up to its end; Silence if nothing arrives for that long."""
    try:
        async with asyncio.timeout(patience) as silence, stream as chunks:
            await _hand_over(chunks, patience, split, take, silence)
    except TimeoutError:
        if not silence.expired():
            raise
        raise Silence(f"nothing was received for {patience:g} s") from None


async def _hand_over(
    chunks: AsyncIterator[bytes], patience: float, split: Split, take: TakeAll, silence: asyncio.Timeout
) -> None:
    time = asyncio.get_running_loop().time
    armed = time()
    await take([])
    async for chunk in chunks:
        await take(split(chunk))
        now = time()
        if now - armed >= REARM:
            silence.reschedule(now + patience)
            armed = now
