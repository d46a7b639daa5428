"""What a machine looks like from outside a cluster: compared before and after, any leak shows."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from cluster.binaries import TOOLS, kubernetes, wanted_kubernetes
from cluster.isolation import KUBELET_SETTINGS, MADE_FOLDERS
from cluster.processes import MARKER


@dataclass(frozen=True)
class Machine:
    """Everything that a cluster might leave behind."""

    processes: frozenset[str]
    mounts: tuple[str, ...]
    namespaces: tuple[str, ...]
    links: tuple[str, ...]
    routes: tuple[str, ...]
    cgroups: frozenset[str]
    settings: tuple[str, ...]
    folders: tuple[str, ...]


def look() -> Machine:
    """The state of the machine now."""
    return Machine(
        processes=frozenset(_cluster_processes()),
        mounts=tuple(sorted(_mounts())),
        namespaces=tuple(_lines("ip", "netns", "list")),
        links=tuple(_lines("ip", "-oneline", "-brief", "link", "show")),
        routes=tuple(_lines("ip", "route", "show", "table", "all")),
        cgroups=frozenset(folder for folder, _, _ in os.walk("/sys/fs/cgroup")),
        settings=tuple(f"{name}={Path('/proc/sys', name).read_text()}" for name in KUBELET_SETTINGS),
        folders=tuple(folder for folder in MADE_FOLDERS if Path(folder).exists()),
    )


def _cluster_processes() -> list[str]:
    """Every process with the name of one of our programs or with our mark, whoever started it."""
    names = {name for tool in (*TOOLS.values(), kubernetes(wanted_kubernetes())) for name in tool.commands}
    found = []
    for entry in Path("/proc").iterdir():
        try:
            program = (entry / "cmdline").read_bytes().split(b"\0")[0].decode()
            marked = MARKER.encode() in (entry / "environ").read_bytes()
        except OSError:
            continue
        if entry.name.isdigit() and (marked or Path(program).name in names):
            found.append(f"{entry.name} {program}")
    return found


def _mounts() -> list[str]:
    """Mounts without their ids, which are given anew each time."""
    return [" ".join(line.split()[3:]) for line in Path("/proc/self/mountinfo").read_text().splitlines()]


def _lines(*command: str) -> list[str]:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
