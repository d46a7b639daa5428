"""`helm test` on a control plane without containers: the pod that looks is played by the real program.

Helm creates the pod and waits for its end. The program runs beside it, with the arguments and the service account that
the chart gave the pod, and the pod then ends as the program did.
"""

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from kit.release import Release

PROGRAM = str(Path(sys.executable).with_name("pilotage-operator"))


@dataclass(frozen=True)
class Tested:
    """How a test ended."""

    code: int  # of helm
    said: str  # by the program in the pod


def helm_test(release: Release, fullname: str, folder: Path, seconds: float = 90) -> Tested:
    """Run `helm test` and play its pod."""
    before = _uid(release, fullname)
    helm = release.helm.start("test", release.name, "--namespace", release.namespace, "--timeout", f"{seconds:.0f}s")
    try:
        pod = _new_pod(release, fullname, before, helm, seconds)
        done = _play(release, pod, folder)
        _end(release, fullname, "Failed" if done.returncode else "Succeeded")
        return Tested(helm.wait(seconds), done.stdout + done.stderr)
    finally:
        helm.kill()
        helm.wait()


def _uid(release: Release, fullname: str) -> str:
    found = release.kubectl.attempt(
        "get", "pod", f"{fullname}-test", "-n", release.namespace, "-o", "jsonpath={.metadata.uid}"
    )
    return found.stdout


def _new_pod(
    release: Release, fullname: str, before: str, helm: "subprocess.Popen[bytes]", seconds: float
) -> dict[str, Any]:
    deadline = time.monotonic() + seconds
    while _uid(release, fullname) in ("", before):
        assert helm.poll() is None, "helm ended before there was a pod"
        assert time.monotonic() < deadline, "helm made no pod"
        time.sleep(0.1)
    return dict(release.kubectl.get("pod", f"{fullname}-test", "-n", release.namespace))


def _play(release: Release, pod: dict[str, Any], folder: Path) -> "subprocess.CompletedProcess[str]":
    token = release.kubectl("create", "token", pod["spec"]["serviceAccountName"], "-n", release.namespace).strip()
    document = yaml.safe_load(release.control_plane.kubeconfig.read_text())
    document["users"] = [{"name": document["users"][0]["name"], "user": {"token": token}}]
    own = folder / f"{pod['metadata']['name']}.kubeconfig"
    own.write_text(yaml.safe_dump(document))
    words = [release.local(word) for word in pod["spec"]["containers"][0]["args"]]
    command = [PROGRAM, *words, f"--kubeconfig={own}"]
    return subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)


def _end(release: Release, fullname: str, phase: str) -> None:
    """Let the pod end, as its kubelet would."""
    where = ("pod", f"{fullname}-test", "-n", release.namespace)
    release.kubectl("wait", *where[2:], f"pod/{fullname}-test", "--for=condition=Ready", "--timeout=30s")
    change = json.dumps({"status": {"phase": phase, "containerStatuses": None}})
    release.kubectl("patch", *where, "--subresource=status", "--type=merge", "-p", change)
