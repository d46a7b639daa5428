"""What a machine looks like from outside a cluster: compared before and after, any leak shows."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from cluster.isolation import KUBELET_SETTINGS, MADE_FOLDERS
from cluster.processes import MARKER, process_namespaces
from cluster.record import folder_of


@dataclass(frozen=True)
class Machine:
    """Everything that a cluster might leave behind."""

    processes: frozenset[str]
    process_namespaces: frozenset[str]  # containers carry no mark, but they live in one of their own
    mounts: tuple[str, ...]
    namespaces: tuple[str, ...]
    links: tuple[str, ...]
    routes: tuple[str, ...]
    cgroups: frozenset[str]
    settings: tuple[str, ...]
    folders: tuple[str, ...]


def look(cluster: str) -> Machine:
    """The state of the machine now, as far as the cluster of this name may have touched it."""
    return Machine(
        processes=frozenset(_processes(folder_of(cluster))),
        process_namespaces=frozenset(process_namespaces().values()),
        mounts=tuple(sorted(_mounts())),
        namespaces=tuple(_lines("ip", "netns", "list")),
        links=tuple(_lines("ip", "-oneline", "-brief", "link", "show")),
        routes=tuple(_lines("ip", "route", "show", "table", "all")),
        cgroups=frozenset(folder for folder, _, _ in os.walk("/sys/fs/cgroup")),
        settings=tuple(f"{name}={Path('/proc/sys', name).read_text()}" for name in KUBELET_SETTINGS),
        folders=tuple(folder for folder in MADE_FOLDERS if Path(folder).exists()),
    )


def _processes(folder: Path) -> list[str]:
    """Every process that carries the mark of the cluster in this folder, or names the folder in its command."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes()
            marked = f"{MARKER}={folder}".encode() in (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if marked or f"{folder}/".encode() in words:
            found.append(f"{entry.name} {words.split(bytes(1))[0].decode()}")
    return found


def _mounts() -> list[str]:
    """Mounts without their ids, which are given anew each time."""
    return [" ".join(line.split()[3:]) for line in Path("/proc/self/mountinfo").read_text().splitlines()]


def _lines(*command: str) -> list[str]:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
