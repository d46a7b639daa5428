"""Memory goes back to the system."""

import ctypes
import subprocess
import sys

import pytest

# A heap full of holes: one buffer of a hundred stays, and so the end of the heap stays, too.
HOLES = """
from pathlib import Path
from pilotage.app.memory import give_back

def resident():
    return next(int(line.split()[1]) for line in Path("/proc/self/status").read_text().splitlines() if "VmRSS" in line)

before = resident()
kept = [bytes(2000) for _ in range(50_000)][::100]
full = resident()
give_back()
print(full - before, resident() - before)
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="this C library returns memory by itself")
def test_a_heap_with_holes_is_returned() -> None:
    said = subprocess.run([sys.executable, "-c", HOLES], capture_output=True, text=True, check=True).stdout
    held, left = map(int, said.split())
    assert held > 50_000, "the heap was not returned before"
    assert left < held / 3
