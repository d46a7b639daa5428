"""Runs commands as a person types them, and keeps each line with the moment at which it appeared."""

import os
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from localcluster.errors import Problem
from recording.terminal import PROMPT, Line

PATIENCE = 30.0  # seconds


class Shell:
    """One terminal, in a folder and on a cluster."""

    def __init__(self, folder: Path, kubectl: Path, kubeconfig: Path) -> None:
        self._folder = folder
        path = f"{kubectl.parent}{os.pathsep}{os.environ['PATH']}"
        self._environment = os.environ | {"PATH": path, "KUBECONFIG": str(kubeconfig)}
        self._seen: list[tuple[float, str]] = []
        self._started: float | None = None

    def start_clock(self) -> None:
        """Count from the next line on."""
        self._started = time.monotonic()

    @property
    def lines(self) -> list[Line]:
        """What was seen, in the order in which it was."""
        started = self._started
        return [
            Line(text, None if started is None or at < started else round(at - started, 2)) for at, text in self._seen
        ]

    def run(self, command: str, *, may_fail: bool = False) -> None:
        """Type a command, and wait for its end."""
        self._see(f"{PROMPT}{command}")
        with self._start(command) as program:
            self._read(program)
        if program.returncode and not may_fail:
            raise Problem(f"{command!r} ended with {program.returncode}: {self._seen[-1][1]}")

    @contextmanager
    def behind(self, command: str) -> Iterator[None]:
        """Type a command that runs in the background until the block ends."""
        self._see(f"{PROMPT}{command} &")
        with self._start(command) as program:
            reading = threading.Thread(target=self._read, args=[program])
            reading.start()
            try:
                yield
            finally:
                program.terminate()
                reading.join()

    def until(self, words: str, times: int = 1) -> None:
        """Wait until this number of lines contains these words."""
        deadline = time.monotonic() + PATIENCE
        while sum(words in text for _, text in self._seen) < times:
            if time.monotonic() > deadline:
                raise Problem(f"no output contains {words!r}: {[text for _, text in self._seen]}")
            time.sleep(0.01)

    def _start(self, command: str) -> "subprocess.Popen[str]":
        words = ["bash", "-c", f"exec {command}" if "|" not in command else command]
        return subprocess.Popen(
            words,
            cwd=self._folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def _read(self, program: "subprocess.Popen[str]") -> None:
        assert program.stdout is not None
        for line in program.stdout:
            self._see(line.rstrip())

    def _see(self, text: str) -> None:
        self._seen.append((time.monotonic(), text))
