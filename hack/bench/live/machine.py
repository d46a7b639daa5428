"""The machine of a run, without which figures mean nothing."""

import os
import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Machine:
    """Where a run took place."""

    cores: int
    memory: int  # bytes
    processor: str
    load: float  # of the last minute, before the run

    @property
    def is_busy(self) -> bool:
        """Whether something else was running."""
        return self.load > self.cores / 2

    def text(self) -> str:
        """In a few words."""
        return f"{self.cores} cores of {self.processor}, {self.memory / (1 << 30):.0f} GiB"


def look() -> Machine:
    """This machine, now."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    cores = len(os.sched_getaffinity(0))
    return Machine(cores, memory, processor(Path("/proc/cpuinfo").read_text()), os.getloadavg()[0])


def processor(cpuinfo: str) -> str:
    """The name of the processor, where the kernel tells it."""
    found = re.search(r"^model name\s*:\s*(.+)$", cpuinfo, re.MULTILINE)
    return " ".join(found[1].split()) if found else os.uname().machine
