"""Pilotage as processes on this machine, for a demo where no pod can run: they live as long as the cluster."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from localcluster import record
from localcluster.errors import Problem
from localcluster.processes import MARKER, processes_of

PROGRAMS = Path(sys.executable).parent
COMPONENTS = ("pilotage", "pilotage-operator")
SECONDS_TO_STOP = 10.0


def start(name: str, component: str, *flags: str, environment: Mapping[str, str] | None = None) -> Path:
    """Start a program with `run` and these flags, unless it runs. Returns its log."""
    folder = record.folder_of(name)
    log = folder / "logs" / f"{component}.log"
    if _found(folder, component):
        return log
    log.parent.mkdir(parents=True, exist_ok=True)
    # With the cluster's mark, deleting the cluster ends this process, too.
    marks = {MARKER: str(folder), "PILOTAGE_COMPONENT": component}
    with log.open("ab") as output:
        process = subprocess.Popen(
            [PROGRAMS / component, "run", *flags],
            env={**os.environ, **marks, **(environment or {})},
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    time.sleep(0.5)
    if process.poll() is not None:
        raise Problem(f"{component} did not start: {log.read_text(errors='replace').strip()[-600:]}")
    process.returncode = 0  # it outlives us; without this Python complains that it was not waited for
    return log


def stop(name: str) -> None:
    """Let all of them finish their work; it is no error if there is none."""
    folder = record.folder_of(name)
    for component in COMPONENTS:
        for pid in _found(folder, component):
            os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + SECONDS_TO_STOP
    while any(_found(folder, component) for component in COMPONENTS) and time.monotonic() < deadline:
        time.sleep(0.1)


def _found(folder: Path, component: str) -> list[int]:
    return [pid for pid, found in processes_of(folder).items() if found == component]
