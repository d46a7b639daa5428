"""One answer of the API server that comes piece by piece, and how one can tell that it is dead."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager

from pilotage.cluster.watch.watch_lines import TooLong, WatchLines

REARM = 1.0  # seconds; the timer of silence need not be exact, and setting it for every chunk would cost

ChunkStream = AbstractAsyncContextManager[AsyncIterator[bytes]]
Split = Callable[[bytes], list[bytes | TooLong]]
TakeAll = Callable[[list[bytes | TooLong]], Awaitable[None]]


class Silence(Exception):
    """The connection is up as far as we know, and nothing comes."""


class BrokenOff(Exception):
    """The stream ended where no stream should; what was said before is whole."""


async def read_lines(stream: ChunkStream, patience: float, take: TakeAll) -> None:
    """Hand over the lines of a stream as they come, up to its end; none at first, when it has been opened."""
    lines = WatchLines()
    await read(stream, patience, lines.split, take)
    if not lines.is_between_lines:
        raise BrokenOff("the stream ended in the middle of a line")


async def read(stream: ChunkStream, patience: float, split: Split, take: TakeAll) -> None:
    """Hand over what a stream is split into, up to its end; Silence when nothing comes for that long."""
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
