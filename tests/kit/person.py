"""Somebody at a terminal with kubectl, a kubeconfig and `kubectl pilotage`."""

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import yaml

from kit.control_plane import ControlPlane

SECONDS = 60.0


@dataclass(frozen=True)
class Person:
    """Somebody with a kubeconfig and the plugin."""

    kubectl: Path
    kubeconfig: Path

    def __call__(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run `kubectl ...` and let the caller judge."""
        path = f"{Path(sys.executable).parent}{os.pathsep}{self.kubectl.parent}{os.pathsep}{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "KUBECONFIG": str(self.kubeconfig)}
        command = [str(self.kubectl), *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False, env=environment)

    def pilotage(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run `kubectl pilotage ...`."""
        return self("pilotage", *words)

    def until(self, *words: str, code: int) -> subprocess.CompletedProcess[str]:
        """Run it until it ends with this code."""
        deadline = time.monotonic() + SECONDS
        while (done := self.pilotage(*words)).returncode != code:
            assert time.monotonic() < deadline, f"{words} ended with {done.returncode}: {done.stderr}{done.stdout}"
            time.sleep(0.5)
        return done


def account_kubeconfig(control_plane: ControlPlane, namespace: str, account: str, folder: Path) -> Path:
    """Create a service account without any rights, and write the kubeconfig of somebody who has its token."""
    kubectl = control_plane.kubectl
    kubectl("-n", namespace, "create", "serviceaccount", account)
    document = yaml.safe_load(Path(control_plane.kubeconfig).read_text())
    document["users"][0]["user"] = {"token": kubectl("-n", namespace, "create", "token", account).strip()}
    document["contexts"][0]["context"]["namespace"] = namespace
    path = folder / f"{account}.kubeconfig"
    path.write_text(yaml.safe_dump(document))
    return path
