"""Returns unused memory to the system, where the C library can do that."""

import asyncio
import ctypes

EVERY = 60.0  # seconds
LARGE = 128 << 10  # bytes; a column of 15,000 nodes is smaller
SPARE = 4 << 20  # bytes at the end of the heap that are kept for the next request
# The parameters of mallopt in glibc.
TRIM_THRESHOLD, MMAP_THRESHOLD, ARENA_MAX = -1, -3, -8

_library = ctypes.CDLL(None)  # glibc has the functions below; other libraries do not need them


def keep_the_heap_small() -> None:
    """Always give large blocks their own pages, and let threads share one heap.

    By default glibc raises its threshold whenever a large block is freed, and puts later blocks of that size among the
    small ones, where they leave holes: the heap grows for hours with lists and bursts, for the same objects.
    """
    set_option = getattr(_library, "mallopt", None)
    if set_option is not None:
        for option, value in ((MMAP_THRESHOLD, LARGE), (TRIM_THRESHOLD, SPARE), (ARENA_MAX, 1)):
            set_option(option, value)


def trim_heap() -> None:
    """Return unused pages to the system; by itself the C library returns only the end of the heap."""
    trim = getattr(_library, "malloc_trim", None)
    if trim is not None:
        trim(0)


async def keep_trimming_heap() -> None:
    """Return them every minute: lists of all pods come and go, and so do bursts."""
    while True:
        await asyncio.sleep(EVERY)
        trim_heap()
