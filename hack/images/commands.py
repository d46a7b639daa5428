"""Runs programs quietly, and shows their output if they fail."""

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from images.store import Store, disk_full
from localcluster.errors import Problem
from localcluster.progress import Step

LINES_SHOWN = 15
NO_SPACE = re.compile(r"no space left on device|disk quota exceeded|enough free space", re.IGNORECASE)


@dataclass(frozen=True)
class Progress:
    """How to read progress from a program's output: the matching lines, and their approximate number."""

    pattern: str
    total: int


class Commands(Protocol):
    """Runs programs; tests put a list in its place."""

    def run(self, title: str, argv: Sequence[str], progress: Progress | None = None) -> None:
        """Run to the end, shown as one step; a Problem if it fails."""

    def read(self, argv: Sequence[str], seconds: float = 60) -> str | None:
        """What the program prints, or None if it fails or takes longer."""


class LoggedCommands:
    """Runs programs on this machine and keeps what they print in the logs of the store."""

    def __init__(self, store: Store, environment: Mapping[str, str]) -> None:
        self._store = store
        self._environment = {**environment, "TMPDIR": str(store.temporary), "DOCKER_BUILDKIT": "1"}

    def run(self, title: str, argv: Sequence[str], progress: Progress | None = None) -> None:
        """Run to the end, shown as one step; a Problem with the last lines of its output if it fails."""
        log = self._store.log(title)
        with Step(title) as step:
            status = self._run(argv, log, step, progress)
            if status:
                raise self._failure(title, status, log)

    def read(self, argv: Sequence[str], seconds: float = 60) -> str | None:
        """What the program prints, or None if it fails or takes longer."""
        try:
            done = subprocess.run(
                argv, env=self._environment, capture_output=True, text=True, timeout=seconds, check=False
            )
        except (FileNotFoundError, subprocess.TimeoutExpired):
            return None
        return done.stdout if done.returncode == 0 else None

    def _run(self, argv: Sequence[str], log: Path, step: Step, progress: Progress | None) -> int:
        # The program holds the lock too: if this process is killed, the next one waits for what still runs.
        held = () if self._store.lock is None else (self._store.lock,)
        with (
            log.open("w") as output,
            subprocess.Popen(
                argv, env=self._environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output, pass_fds=held
            ) as process,
        ):
            try:
                while True:
                    try:
                        return process.wait(timeout=0.5)
                    except subprocess.TimeoutExpired:
                        if progress:
                            done = len(re.findall(progress.pattern, log.read_text(errors="replace"), re.MULTILINE))
                            step.update(min(done, progress.total), progress.total, "steps")
            except BaseException:
                process.terminate()
                raise

    def _failure(self, title: str, status: int, log: Path) -> Problem:
        text = log.read_text(errors="replace")
        if NO_SPACE.search(text):
            return disk_full(self._store.root)
        last = "\n".join(f"    {line}" for line in text.strip().splitlines()[-LINES_SHOWN:])
        return Problem(f"{title} failed with status {status}; its last lines are below, all of them in {log}\n{last}")


def is_root() -> bool:
    """Whether this process may mount and change root."""
    return os.geteuid() == 0
