"""kubectl and helm for tests: a failure shows the command, the server's answer and what the cluster logged."""

import json
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

Manifest = Mapping[str, Any]


class CommandFailed(AssertionError):
    """A command that should have succeeded did not."""


class Command:
    """A program that talks to one cluster."""

    def __init__(self, program: Path, kubeconfig: Path, logs: Callable[[], str]) -> None:
        self._program = program
        self._kubeconfig = kubeconfig
        self._logs = logs

    def __call__(self, *words: str, stdin: str | None = None, timeout: float = 120) -> str:
        """What the program printed; CommandFailed with everything a reader needs if it failed."""
        done = self.attempt(*words, stdin=stdin, timeout=timeout)
        if done.returncode:
            raise CommandFailed(self._story(words, done))
        return done.stdout

    def attempt(self, *words: str, stdin: str | None = None, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        """Run it and let the caller judge."""
        command = [str(self._program), f"--kubeconfig={self._kubeconfig}", *words]
        return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=timeout, check=False)

    def start(self, *words: str) -> "subprocess.Popen[bytes]":
        """Start it and let the caller wait for its end."""
        command = [str(self._program), f"--kubeconfig={self._kubeconfig}", *words]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def _story(self, words: Sequence[str], done: subprocess.CompletedProcess[str]) -> str:
        return (
            f"{self._program.name} {' '.join(words)} ended with code {done.returncode}\n"
            f"--- it said\n{done.stderr.strip()}\n{done.stdout.strip()}\n--- the cluster logged\n{self._logs()}"
        )


class Kubectl(Command):
    """kubectl with manifests as Python objects."""

    def create(self, *manifests: Manifest) -> None:
        """Create objects; it is a failure if one exists."""
        self("create", "-f", "-", stdin=_listing(manifests))

    def apply(self, *manifests: Manifest) -> None:
        """Create or change objects."""
        self("apply", "-f", "-", stdin=_listing(manifests))

    def get(self, *words: str) -> Any:
        """An object or a list of them, decoded."""
        return json.loads(self("get", *words, "-o", "json"))

    def until_established(self, *definitions: str, timeout: float = 60) -> None:
        """Wait until the API server serves custom resource definitions."""
        deadline = time.monotonic() + timeout
        # `kubectl wait` fails at once where a definition that was just created has conditions of null.
        while (done := self.attempt("wait", "--for=condition=Established", *definitions, "--timeout=30s")).returncode:
            assert time.monotonic() < deadline, f"{definitions} are not established: {done.stderr}"
            time.sleep(0.2)

    def delete_definitions(self, *names: str) -> None:
        """Delete custom resource definitions with all that is of their kinds, and wait until they are gone."""
        self("delete", "crd", *names, "--ignore-not-found", "--wait=false")
        deadline = time.monotonic() + 60
        while left := self("get", "crd", *names, "--ignore-not-found", "-o", "name").split():
            assert time.monotonic() < deadline, f"{left} are still there"
            # Where they come and go often the API server tries later and later; any change makes it try at once.
            self.attempt("annotate", *left, "--overwrite", f"again={time.monotonic()}")
            time.sleep(0.5)

    def bind(self, namespace: str, pod: str, node: str, *words: str, uid: str = "") -> subprocess.CompletedProcess[str]:
        """Bind a pod by hand, as a scheduler would; the caller judges the answer."""
        metadata = {"name": pod, "namespace": namespace} | ({"uid": uid} if uid else {})
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target}
        path = f"/api/v1/namespaces/{namespace}/pods/{pod}/binding"
        return self.attempt("create", "--raw", path, "-f", "-", *words, stdin=json.dumps(binding))


def _listing(manifests: Sequence[Manifest]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(manifests)})
