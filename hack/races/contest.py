"""One contest: the stock kube-scheduler and another scheduler fill the same fake nodes for a while."""

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import yaml

from kit.commands import Manifest
from kit.control_plane import ControlPlane
from kit.kubelet_admission import CUSTOM_STATUS, KubeletAdmission
from pilotage.config.sharing import SHARING
from pilotage.testing import node_manifest, pod_manifest
from races.feed import Feed

FIRST, SECOND = "default-scheduler", "second"
NODE_CORES = 32
POD_CORES = (1, 2, 4, 8)
REQUESTS_PER_SECOND = 5000
Document = dict[str, Any]


@dataclass(frozen=True)
class Terms:
    """What is played: the size, the pace, and how full the nodes are to be."""

    nodes: int = 500
    rate: float = 50.0  # pods a second, of each scheduler
    fill: float = 0.9
    seconds: float = 60.0

    @property
    def life(self) -> float:
        """Return the seconds that a pod has, so that all together fill the nodes as far as is wanted."""
        pods = self.nodes * NODE_CORES * self.fill / (sum(POD_CORES) / len(POD_CORES))
        return pods / (2 * self.rate)


@dataclass(frozen=True)
class Result:
    """What came of it, for the second scheduler and the first."""

    binds: Mapping[str, int]
    rejected: Mapping[str, int]

    def share(self, scheduler: str) -> float:
        """Return which share of a scheduler's binds was rejected."""
        return self.rejected[scheduler] / self.binds[scheduler] if self.binds[scheduler] else 0.0


def play(plane: ControlPlane, namespace: str, folder: Path, strategy: str, other: Document, terms: Terms) -> Result:
    """Play one contest; `other` says which program the second scheduler is, and how it shares."""
    nodes = [node_manifest(f"race-{n}", cpu=NODE_CORES, memory="256Gi") for n in range(terms.nodes)]
    plane.fake_nodes(nodes)
    kubelets = KubeletAdmission(plane.cluster, nodes, f"/api/v1/namespaces/{namespace}/pods")
    with ExitStack() as stack:
        stack.callback(plane.delete_nodes, "type=kwok")
        stack.enter_context(kubelets.running())
        stack.enter_context(_first(plane, folder, strategy))
        stack.enter_context(_second(plane, folder, strategy, other))
        for scheduler in (FIRST, SECOND):
            pod = partial(_pod, namespace, scheduler)
            stack.enter_context(Feed(plane.cluster, namespace, pod, terms.rate, terms.life))
        time.sleep(terms.life + 5)  # until the nodes are as full as they will be
        kubelets.forget_counts()
        time.sleep(terms.seconds)
        rejected = dict.fromkeys((FIRST, SECOND), 0) | dict(kubelets.rejected)
        binds = {name: kubelets.admitted[name] + rejected[name] for name in (FIRST, SECOND)}
    # In one request: one for each of thousands takes minutes where the machine is busy.
    plane.kubectl("delete", "--raw", f"/api/v1/namespaces/{namespace}/pods?gracePeriodSeconds=0", timeout=300)
    return Result(binds, rejected)


def _pod(namespace: str, scheduler: str, number: int) -> Manifest:
    cores = Random(f"{scheduler} {number}").choice(POD_CORES)  # noqa: S311 - no secret
    name = f"{scheduler}-{number}"
    return pod_manifest(name, namespace=namespace, scheduler=scheduler, cpu=cores, annotations=CUSTOM_STATUS)


def _first(plane: ControlPlane, folder: Path, strategy: str) -> Any:
    file = configuration(folder / "first.yaml", plane, profile(FIRST, strategy))
    return plane.kube_scheduler(f"--config={file}")


@contextmanager
def _second(plane: ControlPlane, folder: Path, strategy: str, other: Document) -> Iterator[None]:
    file = configuration(folder / "second.yaml", plane, profile(SECOND, strategy, **other.get("sharing", {})))
    start = plane.pilotage if other["program"] == "pilotage" else plane.kube_scheduler
    with start(f"--config={file}"):
        yield


def profile(name: str, strategy: str, **sharing: Any) -> Document:
    """Return a profile that packs or spreads, and shares the cluster as is said."""
    scoring = {"type": strategy, "resources": [{"name": "cpu", "weight": 1}]}
    arguments = {"name": "NodeResourcesFit", "args": {"scoringStrategy": scoring}}
    off = [{"name": "NodeResourcesBalancedAllocation"}] if strategy == "MostAllocated" else []
    shares = [{"name": SHARING, "args": sharing}] if sharing else []
    return {"schedulerName": name, "pluginConfig": [arguments, *shares], "plugins": {"score": {"disabled": off}}}


def configuration(file: Path, plane: ControlPlane, one: Document) -> Path:
    """Write the configuration of a scheduler that serves one profile, and return the file."""
    kubeconfig = str(plane.cluster.identity_kubeconfig("scheduler"))
    connection = {"kubeconfig": kubeconfig, "qps": REQUESTS_PER_SECOND, "burst": REQUESTS_PER_SECOND}
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": connection,
        "leaderElection": {"leaderElect": False},
        "profiles": [one],
    }
    file.write_text(yaml.safe_dump(document))
    return file
