"""A release of our chart on a control plane without containers.

Helm installs it, the stock kube-scheduler and kwok play its pods, and the real programs run beside them as processes:
with the arguments, the environment and the service accounts that the chart gave them, and with nothing else.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from kit.control_plane import ControlPlane, running
from localcluster.paths import REPOSITORY
from pilotage.testing import node_manifest

CHART = str(REPOSITORY / "charts" / "pilotage")
PROGRAMS = {"scheduler": "pilotage", "operator": "pilotage-operator"}
MOUNTS = {"/etc/pilotage/values": "values"}
LOOK_EVERY = 0.1  # seconds: most looks are a kubectl, which takes the machine from what is waited for
LONG_ENOUGH = "--duration=4h"  # for the longest test; the kubelet would renew a token
Manifest = dict[str, Any]


@dataclass(frozen=True)
class Process:
    """One program of the release, in the place of a pod."""

    pod: str
    program: subprocess.Popen[bytes]
    log: Path

    @property
    def said(self) -> str:
        """What it has logged."""
        return self.log.read_text(errors="replace")


class Release:
    """An installed chart, and its programs."""

    def __init__(self, control_plane: ControlPlane, namespace: str, name: str, folder: Path, helm_major: int) -> None:
        self.control_plane, self.namespace, self.name = control_plane, namespace, name
        self.kubectl = control_plane.kubectl
        self.helm = control_plane.helm(helm_major)
        self._folder = folder

    def install(self, *words: str, values: Manifest | None = None) -> str:
        """Install or upgrade it; pods are not waited for."""
        file = self._folder / f"{self.name}-values.yaml"
        file.write_text(yaml.safe_dump(values or {}))
        here = ("--namespace", self.namespace, "--values", str(file))
        return self.helm("upgrade", "--install", self.name, CHART, *here, *words)

    @contextmanager
    def processes(self, component: str) -> Iterator[list[Process]]:
        """Run the program of a component once for each of its pods, until the block ends."""
        with ExitStack() as stack:
            yield [stack.enter_context(self.process(component, pod)) for pod in self.pods(component)]

    @contextmanager
    def process(self, component: str, pod: str, *flags: str) -> Iterator[Process]:
        """Run the program of a component in the place of one of its pods."""
        container = self.deployment(component)["spec"]["template"]["spec"]["containers"][0]
        own = self.kubeconfig(component)
        arguments = [self.local(argument) for argument in container["args"]]
        quiet = (
            ["--secure-port=0", "--api-port=0"]
            if component == "scheduler"
            else ["--liveness-port=0", "--metrics-port=0"]
        )
        command = [str(Path(sys.executable).with_name(PROGRAMS[component])), *arguments, f"--kubeconfig={own}", *quiet]
        log = self.control_plane.cluster.logs / f"{pod}-{time.monotonic_ns()}.log"
        environment = {**os.environ, "POD_NAME": pod, "POD_NAMESPACE": self.namespace}
        with running([*command, *flags], log, environment) as program:
            yield Process(pod, program, log)

    def pods(self, component: str, seconds: float = 60) -> list[str]:
        """Wait until a component has its pods, and return their names."""
        wanted = self.deployment(component)["spec"]["replicas"]
        selector = f"app.kubernetes.io/instance={self.name},app.kubernetes.io/component={component}"
        deadline = time.monotonic() + seconds
        while True:
            items = self.kubectl.get("pods", "-n", self.namespace, "-l", selector)["items"]
            alive = [item["metadata"]["name"] for item in items if "deletionTimestamp" not in item["metadata"]]
            if len(alive) == wanted:
                return alive
            assert time.monotonic() < deadline, f"{component} has {alive}, {wanted} are wanted"
            time.sleep(0.2)

    def deployment(self, component: str) -> Manifest:
        """Return the Deployment of a component."""
        selector = f"app.kubernetes.io/instance={self.name},app.kubernetes.io/component={component}"
        [found] = self.kubectl.get("deployments", "-n", self.namespace, "-l", selector)["items"]
        return dict(found)

    def profile(self, name: str) -> Manifest:
        """Return a SchedulerProfile."""
        return dict(self.kubectl.get("schedulerprofile", name))

    def until(
        self, holds: Callable[[], object], what: str, processes: Sequence[Process] = (), seconds: float = 60
    ) -> None:
        """Wait until something holds."""
        deadline = time.monotonic() + seconds
        while not holds():
            told = "\n".join(f"{process.pod}:\n{process.said[-3000:]}" for process in processes)
            assert time.monotonic() < deadline, f"not yet: {what}\n{told}"
            time.sleep(LOOK_EVERY)

    def kubeconfig(self, component: str, server: str = "") -> Path:
        """Return how the service account of a component reaches the API server, or whoever stands before it."""
        account = self.deployment(component)["spec"]["template"]["spec"]["serviceAccountName"]
        token = self.kubectl("create", "token", account, "-n", self.namespace, LONG_ENOUGH).strip()
        document = yaml.safe_load(self.control_plane.kubeconfig.read_text())
        document["users"] = [{"name": document["users"][0]["name"], "user": {"token": token}}]
        if server:
            document["clusters"][0]["cluster"]["server"] = server
        path = self._folder / f"{self.name}-{component}{'-elsewhere' if server else ''}.kubeconfig"
        path.write_text(yaml.safe_dump(document))
        return path

    def local(self, argument: str) -> str:
        """Return an argument with the folder that stands for a mounted ConfigMap."""
        for path, name in MOUNTS.items():
            if path in argument:
                return argument.replace(path, str(self._mounted(name)))
        return argument

    def _mounted(self, name: str) -> Path:
        selector = f"app.kubernetes.io/instance={self.name}"
        maps = self.kubectl.get("configmaps", "-n", self.namespace, "-l", selector)["items"]
        [found] = [each for each in maps if each["metadata"]["name"].endswith(f"-{name}")]
        folder = self._folder / f"{self.name}-{name}"
        folder.mkdir(exist_ok=True)
        for file, text in found["data"].items():
            (folder / file).write_text(text)
        return folder


def home_nodes(prefix: str) -> list[Manifest]:
    """Return nodes for the pods of releases, where no pod of a test goes."""
    taint = {"key": "home", "effect": "NoSchedule"}
    return [node_manifest(f"{prefix}-home-{number}", taints=[taint], cpu="8", memory="32Gi") for number in range(2)]


TO_HOME_NODES: Manifest = {"tolerations": [{"key": "home", "operator": "Exists"}]}
