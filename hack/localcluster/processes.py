"""Finds and ends the processes of a cluster by a mark in their environment: no file can be stale or missing."""

import contextlib
import os
import signal
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from localcluster.errors import Problem

MARKER = "PILOTAGE_CLUSTER_FOLDER"


def processes_of(folder: Path) -> dict[int, str]:
    """Process id -> component name, for all processes of the cluster in this folder; "" is the keeper."""
    mark = f"{MARKER}={folder}".encode()
    found = {}
    for pid, environment in _environments():
        if mark in environment:
            names = [
                entry.split(b"=", 1)[1].decode() for entry in environment if entry.startswith(b"PILOTAGE_COMPONENT=")
            ]
            found[pid] = names[0] if names else ""
    return found


def end_processes(folder: Path) -> None:
    """Ask the keeper to end, then kill whatever is left."""
    for pid, component in processes_of(folder).items():
        if not component:
            _signal(pid, signal.SIGTERM)
    if _gone(folder, seconds=5):
        return
    deadline = time.monotonic() + 20
    while not _gone(folder, seconds=0.5):
        for pid in processes_of(folder):
            _signal(pid, signal.SIGKILL)
        if time.monotonic() > deadline:
            left = ", ".join(str(pid) for pid in processes_of(folder))
            raise Problem(f"These processes of {folder} do not end: {left}; kill them and delete the cluster again")


def processes_in(namespace: str) -> dict[int, str]:
    """The processes in a PID namespace, containers among them, which carry no mark of ours."""
    return {pid: where for pid, where in process_namespaces().items() if where == namespace}


def wait_for_end(processes: Mapping[int, str], seconds: float = 20) -> bool:
    """Wait until the kernel has ended these processes, known by number and namespace; False if it takes too long."""
    deadline = time.monotonic() + seconds
    while processes.items() & process_namespaces().items():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def process_namespaces() -> dict[int, str]:
    """Process id -> PID namespace, for everything that lives; a zombie only waits to be buried."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if "\nState:\tZ" not in (entry / "status").read_text():
                    found[int(entry.name)] = str((entry / "ns" / "pid").readlink())
    return found


def _gone(folder: Path, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while processes_of(folder):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def _environments() -> Iterator[tuple[int, list[bytes]]]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                yield int(entry.name), (entry / "environ").read_bytes().split(b"\0")
            except OSError:  # ended meanwhile, or not ours
                continue


def _signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
