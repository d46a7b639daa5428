"""What is calculated from what was seen: throughput as upstream calculates it, percentiles, CPU and memory."""

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

INTERVAL = 1.0  # seconds between two samples


def samples(bound: Sequence[float], start: float, stop: float) -> list[float]:
    """Pods per second, second by second, as scheduler_perf takes them.

    The first second in which a pod was bound only sets the mark. A second without a pod is not zero: it is one longer
    interval with the next, and counts as often as it has seconds.
    """
    times = sorted(bound)
    found: list[float] = []
    last_count, last_time, skipped, seen = 0, 0.0, 0, 0
    tick = start + INTERVAL
    while tick <= stop:
        while seen < len(times) and times[seen] <= tick:
            seen += 1
        if seen and not last_count:
            last_count, last_time = seen, tick
        elif seen and seen == last_count:
            skipped += 1
        elif seen:
            found += [(seen - last_count) / (tick - last_time)] * (skipped + 1)
            last_count, last_time, skipped = seen, tick, 0
        tick += INTERVAL
    return found


def stop_time(last_bound: float, created: float) -> float:
    """When upstream stops to sample: it looks once a second, from the moment that all pods were created."""
    return created + max(0, math.ceil((last_bound - created) / INTERVAL)) * INTERVAL


def overall(bound: Sequence[float]) -> float | None:
    """Pods per second from the first that was bound to the last."""
    spent = max(bound) - min(bound) if bound else 0.0
    return (len(bound) - 1) / spent if spent > 0 else None


def average(values: Sequence[float]) -> float | None:
    """The plain mean, if there is anything to take it of."""
    return sum(values) / len(values) if values else None


def percentile(values: Sequence[float], percent: int) -> float | None:
    """The smallest value that so much of all do not exceed."""
    return sorted(values)[max(0, math.ceil(len(values) * percent / 100) - 1)] if values else None


def until_whole(
    gangs: Sequence[Sequence[str]], created: Mapping[str, float], bound: Mapping[str, float]
) -> float | None:
    """Seconds from a gang's last pod that was created to its last that was bound, the median of all gangs."""
    whole = [gang for gang in gangs if all(key in created and key in bound for key in gang)]
    # An answer may be read after the event of what came after it.
    waits = [max(0.0, max(bound[key] for key in gang) - max(created[key] for key in gang)) for gang in whole]
    return median(waits) if waits else None


@dataclass(frozen=True)
class Spent:
    """Seconds of CPU that each program has taken, by its name."""

    seconds: dict[str, float]

    def since(self, before: "Spent") -> "Spent":
        """What was taken between two looks; a program that is new since was at zero."""
        return Spent({name: value - before.seconds.get(name, 0.0) for name, value in self.seconds.items()})


def cpu_seconds(pid: int) -> float:
    """User and system time of a process with all its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_memory(pid: int) -> int:
    """The most bytes that a process has had in memory."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0
