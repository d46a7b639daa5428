"""Runs the auditor as a process, for tests."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

START_LIMIT = 40.0  # seconds
STOP_LIMIT = 60.0  # seconds
PACKAGES = Path(__file__).resolve().parent.parent


class AuditorFailed(RuntimeError):
    """The auditor gave no verdict; the message contains its output."""


class RunningAuditor:
    """Watches for as long as the `with` block lasts; afterwards `report` is there.

    with RunningAuditor(kubeconfig, audit_log, folder, serves={"me": ["pilotage"]}) as running:
        ...
    assert running.violations == []
    """

    def __init__(
        self,
        kubeconfig: Path,
        audit_log: Path,
        folder: Path,
        serves: Mapping[str, Iterable[str]] | None = None,
        wait_limit: float = 60,
        grace: float = 5,
        namespaces: Iterable[str] = (),
    ) -> None:
        self.report: dict[str, Any] = {}
        self.exit_code: int | None = None
        self._report, self._ready, self._output = (folder / name for name in ("report.json", "ready", "auditor.log"))
        files = {"kubeconfig": kubeconfig, "audit-log": audit_log, "report": self._report, "ready-file": self._ready}
        limits = {"wait-limit": wait_limit, "grace": grace}
        self._command = [sys.executable, "-m", "auditor"]
        self._command += [f"--{name}={value}" for name, value in {**files, **limits}.items()]
        self._command += [f"--serves={user}={','.join(names)}" for user, names in (serves or {}).items()]
        self._command += [f"--namespace={namespace}" for namespace in namespaces]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def violations(self) -> list[str]:
        """The broken rules, in the order they were found; one that was broken twice is there twice."""
        return [found["rule"] for found in self.report.get("violations", ())]

    @property
    def output(self) -> str:
        """What the auditor has said so far."""
        return self._output.read_text() if self._output.exists() else ""

    def __enter__(self) -> Self:
        for left_over in (self._ready, self._report):
            left_over.unlink(missing_ok=True)
        with self._output.open("wb") as output:
            path = os.pathsep.join(filter(None, [str(PACKAGES), os.environ.get("PYTHONPATH", "")]))
            environment = {**os.environ, "PYTHONPATH": path}
            self._process = subprocess.Popen(self._command, stdout=output, stderr=output, env=environment)
        try:
            self._wait_until_ready()
        except BaseException:
            self._kill()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.stop()
        except AuditorFailed:
            # A test that has failed already keeps its own reason.
            if error is None:
                raise

    def stop(self) -> None:
        """Let the auditor finish and take its report."""
        assert self._process
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        try:
            self.exit_code = self._process.wait(STOP_LIMIT)
        except subprocess.TimeoutExpired:
            self._kill()
        self.report = json.loads(self._report.read_text()) if self._report.exists() else {}
        if self.exit_code not in (0, 1):
            raise AuditorFailed(f"the auditor gave no verdict (exit code {self.exit_code}):\n{self.output}")

    def _wait_until_ready(self) -> None:
        assert self._process
        deadline = time.monotonic() + START_LIMIT
        while not self._ready.exists():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise AuditorFailed(f"the auditor did not start (exit code {self._process.poll()}):\n{self.output}")
            time.sleep(0.05)

    def _kill(self) -> None:
        if self._process and self._process.poll() is None:
            self._process.kill()
            self._process.wait()
