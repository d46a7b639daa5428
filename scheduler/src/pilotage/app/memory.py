"""Memory that was needed for a moment goes back to the system, where the C library can do that."""

import asyncio
import ctypes

EVERY = 60.0  # seconds
LARGE = 128 << 10  # bytes; a column of 15,000 nodes is smaller
SPARE = 4 << 20  # bytes at the end of the heap that are kept for the next request
# mallopt's numbers for what can be set, in glibc.
TRIM_THRESHOLD, MMAP_THRESHOLD, ARENA_MAX = -1, -3, -8

_library = ctypes.CDLL(None)  # glibc has what is looked for below, others need none of it


def keep_the_heap_small() -> None:
    """Let what is large have pages of its own forever, and threads share one heap.

    By itself glibc takes each large piece that is freed as a sign to put the next ones of that size among the small
    ones, where they leave holes; an hour of lists and bursts then takes ever more room for the same objects.
    """
    set_option = getattr(_library, "mallopt", None)
    if set_option is not None:
        for option, value in ((MMAP_THRESHOLD, LARGE), (TRIM_THRESHOLD, SPARE), (ARENA_MAX, 1)):
            set_option(option, value)


def give_back() -> None:
    """Return the pages that nobody uses; of a heap with holes the C library by itself returns only the end."""
    trim = getattr(_library, "malloc_trim", None)
    if trim is not None:
        trim(0)


async def keep_giving_back() -> None:
    """Return them every minute: lists of all pods come and go, and so do bursts."""
    while True:
        await asyncio.sleep(EVERY)
        give_back()
