"""Reads a streaming response of the API server, and detects a dead one."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager

from pilotage.cluster.watch.watch_lines import TooLong, WatchLines

REARM = 1.0  # seconds; the silence timer need not be exact, and setting it for every chunk would be expensive

ChunkStream = AbstractAsyncContextManager[AsyncIterator[bytes]]
Split = Callable[[bytes], list[bytes | TooLong]]
TakeAll = Callable[[list[bytes | TooLong]], Awaitable[None]]


class Silence(Exception):
    """The connection seems open, but nothing arrives."""


class BrokenOff(Exception):
    """The stream ended prematurely; earlier lines are complete."""


async def read_lines(stream: ChunkStream, patience: float, take: TakeAll) -> None:
    """Yield the lines of a stream as they arrive; an empty list at first, when the stream is open."""
    lines = WatchLines()
    await read(stream, patience, lines.split, take)
    if not lines.is_between_lines:
        raise BrokenOff("the stream ended in the middle of a line")


async def read(stream: ChunkStream, patience: float, split: Split, take: TakeAll) -> None:
    """Yield the parts of a stream; Silence if nothing arrives for the given time."""
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
