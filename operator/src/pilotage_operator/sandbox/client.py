"""The client of the sandbox, which starts it on demand and restarts it if it has ended."""

import logging
import os
import select
import subprocess
import sys
import threading
import time
from contextlib import suppress
from typing import Protocol

import msgspec

from pilotage_operator.sandbox.limits import LARGEST_ANSWER, SECONDS
from pilotage_operator.sandbox.records import Answer, Question

log = logging.getLogger(__name__)

_START_SECONDS = 60.0  # our own plugins are imported first, possibly on a busy machine
_CHUNK = 64 << 10
# Without access to the API server, and with one thread, because forking with several is unsafe.
_PASSED_ON = ("PATH", "PYTHONPATH", "LANG", "LC_ALL", "VIRTUAL_ENV")
_ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}


class SandboxFailed(Exception):
    """There is no answer, for a reason other than the plugin file."""


class Asks(Protocol):
    """Answers requests about plugin files."""

    def ask(self, question: Question) -> Answer:
        """Return the answer; SandboxFailed without one."""


class Sandbox:
    """One process for all requests, one at a time; calls block, so use a thread."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def ask(self, question: Question) -> Answer:
        """Return the answer; SandboxFailed without one."""
        with self._lock:
            try:
                process = self._running()
                assert process.stdin is not None
                process.stdin.write(msgspec.json.encode(question) + b"\n")
                process.stdin.flush()
                return msgspec.json.decode(self._line(process), type=Answer)
            except (OSError, TimeoutError, EOFError, msgspec.MsgspecError) as error:
                self._end()
                raise SandboxFailed(f"{type(error).__name__}: {error}") from error

    def close(self) -> None:
        """End the process."""
        with self._lock:
            self._end()

    def _running(self) -> "subprocess.Popen[bytes]":
        if self._process is None or self._process.poll() is not None:
            self._end()
            environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ} | _ENVIRONMENT
            self._process = subprocess.Popen(
                [sys.executable, "-m", "pilotage_operator.sandbox"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=environment,
            )
        return self._process

    def _line(self, process: "subprocess.Popen[bytes]") -> bytes:
        assert process.stdout is not None
        deadline, found = time.monotonic() + _START_SECONDS + SECONDS, b""
        while not found.endswith(b"\n"):
            ready, _, _ = select.select([process.stdout], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError("the sandbox does not respond")
            chunk = os.read(process.stdout.fileno(), _CHUNK)
            if not chunk:
                raise EOFError("the sandbox has exited")
            found += chunk
            if len(found) > LARGEST_ANSWER + _CHUNK:
                raise EOFError("the sandbox does not exit")
        return found

    def _end(self) -> None:
        if self._process is None:
            return
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()
        self._process.kill()
        self._process.wait()
        self._process = None
