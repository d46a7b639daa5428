"""The programs of whatever releases there are, run as processes for the pods that kwok plays, whoever installs them.

Each has the arguments and the service account of its pod, and the ConfigMaps that are mounted there as folders. A pod
that comes gets a process, and the process of a pod that goes is told to stop.
"""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import yaml

from kit.admin import Admin
from kit.commands import CommandFailed
from kit.control_plane import ControlPlane

PROGRAMS = {"scheduler": "pilotage", "operator": "pilotage-operator"}
QUIET = {"scheduler": ("--secure-port=0", "--api-port=0"), "operator": ("--liveness-port=0",)}
CONFIG_HASH = "pilotage.dev/config-hash"
PATIENCE = 60.0  # seconds
COMPONENT = "app.kubernetes.io/component"
PODS = f"/api/v1/pods?labelSelector=app.kubernetes.io%2Fname%3Dpilotage%2C{COMPONENT.replace('/', '%2F')}"
Manifest = dict[str, Any]


class PlayedPods:
    """Keeps one process for each pod of a release."""

    def __init__(self, control_plane: ControlPlane, folder: Path) -> None:
        self._control_plane, self._folder = control_plane, folder
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._logs: list[Path] = []

    def story(self) -> str:
        """What the programs said last."""
        return "\n".join(f"{log.stem}:\n{log.read_text(errors='replace')[-2000:]}" for log in self._logs)

    def until_ready(self) -> None:
        """Wait until all replicas of schedulers have a configuration, as their probes say on real nodes."""
        deadline = time.monotonic() + PATIENCE
        with closing(Admin(self._control_plane.cluster)) as admin:
            while waiting := [pod["metadata"]["name"] for pod in _alive(admin) if not _is_ready(pod)]:
                assert time.monotonic() < deadline, f"{waiting} have no configuration yet\n{self.story()}"
                time.sleep(0.1)

    def follow(self, over: threading.Event) -> None:
        """Do what there is to do until it is over, then stop all of them."""
        with closing(Admin(self._control_plane.cluster)) as admin:
            while not over.wait(0.2):
                self._look(admin)
        for uid in list(self._processes):
            self._stop(uid)

    def _look(self, admin: Admin) -> None:
        pods = {pod["metadata"]["uid"]: pod for pod in _alive(admin) if pod["spec"].get("nodeName")}
        for uid in self._processes.keys() - pods.keys():
            self._stop(uid)
        for uid in pods.keys() - self._processes.keys():
            if pods[uid]["metadata"]["labels"][COMPONENT] in PROGRAMS:
                self._start(uid, pods[uid], admin)

    def _start(self, uid: str, pod: Manifest, admin: Admin) -> None:
        name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
        component = pod["metadata"]["labels"][COMPONENT]
        [container] = pod["spec"]["containers"]
        try:
            kubeconfig = self._kubeconfig(uid, namespace, pod["spec"]["serviceAccountName"])
            folders = {path: self._mounted(uid, path, source, namespace, admin) for path, source in _mounts(pod)}
        except CommandFailed:
            return  # uninstalled between two looks
        arguments = [_local(word, folders) for word in container["args"]]
        program = str(Path(sys.executable).with_name(PROGRAMS[component]))
        log = self._folder / f"{name}.log"
        self._logs.append(log)
        with log.open("wb") as file:
            self._processes[uid] = subprocess.Popen(
                [program, *arguments, f"--kubeconfig={kubeconfig}", *QUIET[component]],
                stdout=file,
                stderr=file,
                env={**os.environ, "POD_NAME": name, "POD_NAMESPACE": namespace},
            )

    def _stop(self, uid: str) -> None:
        process = self._processes.pop(uid)
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _kubeconfig(self, uid: str, namespace: str, account: str) -> Path:
        token = self._control_plane.kubectl("create", "token", account, "-n", namespace, "--duration=4h").strip()
        document = yaml.safe_load(self._control_plane.kubeconfig.read_text())
        document["users"] = [{"name": document["users"][0]["name"], "user": {"token": token}}]
        path = self._folder / f"{uid}.kubeconfig"
        path.write_text(yaml.safe_dump(document))
        return path

    def _mounted(self, uid: str, path: str, source: str, namespace: str, admin: Admin) -> Path:
        folder = self._folder / f"{uid}{path.replace('/', '-')}"
        folder.mkdir()
        found = admin.find(f"/api/v1/namespaces/{namespace}/configmaps/{source}") or {}
        for name, text in found.get("data", {}).items():
            (folder / name).write_text(text)
        return folder


def _alive(admin: Admin) -> list[Manifest]:
    return [pod for pod in admin.get(PODS)["items"] if "deletionTimestamp" not in pod["metadata"]]


def _is_ready(pod: Manifest) -> bool:
    is_scheduler = pod["metadata"]["labels"][COMPONENT] == "scheduler"
    return not is_scheduler or CONFIG_HASH in pod["metadata"].get("annotations", {})


def _mounts(pod: Manifest) -> Iterator[tuple[str, str]]:
    """Yield where ConfigMaps are mounted, and which."""
    sources = {each["name"]: each["configMap"]["name"] for each in pod["spec"]["volumes"] if "configMap" in each}
    for mount in pod["spec"]["containers"][0].get("volumeMounts", ()):
        if mount["name"] in sources:
            yield mount["mountPath"], sources[mount["name"]]


def _local(word: str, folders: dict[str, Path]) -> str:
    for path, folder in folders.items():
        word = word.replace(path, str(folder))
    return word


@contextmanager
def played_pods(control_plane: ControlPlane, folder: Path) -> Iterator[PlayedPods]:
    """Play the pods of releases until the block ends; the stock kube-scheduler places them."""
    played, over = PlayedPods(control_plane, folder), threading.Event()
    thread = threading.Thread(target=played.follow, args=(over,))
    with control_plane.kube_scheduler():
        thread.start()
        try:
            yield played
        finally:
            over.set()
            thread.join()
