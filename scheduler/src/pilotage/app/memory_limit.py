"""A limit on the process's own memory, slightly below that of its container.

At the container's limit the kernel kills the process. At ours, which comes first, Python raises a MemoryError in
the code that asks for more, so only the plugin that allocates too much fails.
"""

import logging
import resource
from pathlib import Path

log = logging.getLogger(__name__)

CGROUPS, OWN = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
SHARE = 0.9  # of the container's limit; the rest is for files in memory and shared libraries
NO_LIMIT = 1 << 50  # bytes: cgroup v1 represents no limit by a number at least this large


def limit_memory(cgroups: Path = CGROUPS, own: Path = OWN) -> int | None:
    """Set the limit; returns the bytes, None if its container has no limit."""
    found = container_limit(cgroups, own)
    if found is None:
        return None
    wanted = int(found * SHARE)
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (wanted, hard))
    log.info("using at most %d MiB of the container's memory limit of %d MiB", wanted >> 20, found >> 20)
    return wanted


def container_limit(cgroups: Path = CGROUPS, own: Path = OWN) -> int | None:
    """Return the lowest memory limit of this process's cgroups, in bytes; None if there is none."""
    limits = [limit for file in _files(cgroups, own) if (limit := _number(file)) is not None]
    return min(limits, default=None)


def _files(cgroups: Path, own: Path) -> list[Path]:
    try:
        lines = own.read_text().splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        inside = Path(path.lstrip("/"))
        if not controllers:
            found += [cgroups / each / "memory.max" for each in (inside, *inside.parents)]
        elif "memory" in controllers.split(","):
            found += [cgroups / "memory" / each / "memory.limit_in_bytes" for each in (inside, *inside.parents)]
    return found


def _number(file: Path) -> int | None:
    try:
        limit = int(file.read_text())
    except (OSError, ValueError):  # missing, or "max"
        return None
    return limit if limit < NO_LIMIT else None
