"""Memory that was needed for a moment goes back to the system, where the C library can do that."""

import asyncio
import ctypes

EVERY = 60.0  # seconds


def give_back() -> None:
    """Return the pages that nobody uses; of a heap with holes the C library by itself returns only the end."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc has it, musl does not need it
    if trim is not None:
        trim(0)


async def keep_giving_back() -> None:
    """Return them every minute: lists of all pods come and go, and so do bursts."""
    while True:
        await asyncio.sleep(EVERY)
        give_back()
