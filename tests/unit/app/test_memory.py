"""Memory goes back to the system."""

import ctypes
import subprocess
import sys

import pytest

# A heap full of holes: one buffer of a hundred stays, and so the end of the heap stays, too.
HOLES = """
from pathlib import Path
from pilotage.app.memory import trim_heap

def resident():
    return next(int(line.split()[1]) for line in Path("/proc/self/status").read_text().splitlines() if "VmRSS" in line)

before = resident()
kept = [bytes(2000) for _ in range(50_000)][::100]
full = resident()
trim_heap()
print(full - before, resident() - before)
"""


# Lists of all pods, each a little smaller than the one before; something small that stays comes after each of them.
LISTS = """
import sys
from pathlib import Path
from pilotage.app.memory import keep_the_heap_small

def resident():
    return next(int(line.split()[1]) for line in Path("/proc/self/status").read_text().splitlines() if "VmRSS" in line)

if "small" in sys.argv:
    keep_the_heap_small()
before, kept = resident(), []
for size in range(6_000_000, 2_000_000, -10_000):
    large = b"x" * size
    kept.append(b"x" * 2000)
    del large
print(resident() - before)
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="this C library cannot be told")
def test_lists_leave_no_holes() -> None:
    def left(*how: str) -> int:
        command = [sys.executable, "-c", LISTS, *how]
        return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    assert left() > 3_000, "glibc left none by itself"
    assert left("small") < 2_000


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="this C library returns memory by itself")
def test_a_heap_with_holes_is_returned() -> None:
    said = subprocess.run([sys.executable, "-c", HOLES], capture_output=True, text=True, check=True).stdout
    held, left = map(int, said.split())
    assert held > 50_000, "the heap was not returned before"
    assert left < held / 3
