"""Plays the kubelets' admission on fake nodes: kwok runs whatever it is given, a kubelet rejects what does not fit.

Pods that carry `CUSTOM_STATUS` are left alone by kwok; their phases come from here.
"""

import heapq
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from auditor.demand import demand_of
from auditor.quantity import parse, units
from kit.admin import Admin
from kit.commands import Manifest
from kit.pod_watch import PodWatch
from localcluster.record import Cluster

CUSTOM_STATUS = {"kwok.x-k8s.io/status": "custom"}
WRITERS = 4
LINGERS = 0.1  # seconds for which a kubelet still counts a pod that has ended
# As the kubelet looks at them; what the node does not list is not looked at.
ORDER = ("pods", "cpu", "memory", "ephemeral-storage")

Amounts = Mapping[str, int]


@dataclass(frozen=True)
class Shortage:
    """What a pod asks for beyond what its node has."""

    resource: str
    requested: int
    used: int
    capacity: int

    def status(self) -> Manifest:
        """Return the status of a pod that its kubelet rejected for it."""
        said = f"{self.resource}, requested: {self.requested}, used: {self.used}, capacity: {self.capacity}"
        message = f"Pod was rejected: Node didn't have enough resource: {said}"
        return {"phase": "Failed", "reason": f"OutOf{self.resource}", "message": message}


@dataclass
class PlayedKubelet:
    """One node: what it has, and what the pods on it use."""

    capacity: Amounts
    pods: dict[str, Amounts] = field(default_factory=dict)  # by uid

    def admit(self, uid: str, wanted: Amounts) -> Shortage | None:
        """Take a pod in, or say what it lacks."""
        for name in (*ORDER, *sorted(wanted.keys() - set(ORDER))):
            if name in self.capacity and wanted.get(name, 0):
                used = sum(each.get(name, 0) for each in self.pods.values())
                if used + wanted[name] > self.capacity[name]:
                    return Shortage(name, wanted[name], used, self.capacity[name])
        self.pods[uid] = wanted
        return None


class KubeletAdmission:
    """The kubelets of some fake nodes; each judges the pods that reach it in the order in which they come."""

    def __init__(self, cluster: Cluster, nodes: Sequence[Manifest], path: str, run_for: float | None = None) -> None:
        self.admitted: Counter[str] = Counter()  # by scheduler
        self.rejected: Counter[str] = Counter()
        self._kubelets = {
            node["metadata"]["name"]: PlayedKubelet(_amounts(node["status"]["allocatable"])) for node in nodes
        }
        self._judged: dict[str, str] = {}  # uid -> node
        self._ended: list[tuple[float, str]] = []
        self._run_for = run_for  # seconds; for ever without it
        self._timers: list[threading.Timer] = []
        self._watch = PodWatch(cluster, path, self._told)
        self._writes = StatusWrites(cluster)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Judge pods until the block ends."""
        self._watch.start()
        try:
            yield
        finally:
            self._watch.stop()
            for timer in self._timers:
                timer.cancel()
            self._writes.close()

    def rejections(self, scheduler: str) -> float:
        """Return which share of a scheduler's binds was rejected."""
        sent = self.admitted[scheduler] + self.rejected[scheduler]
        return self.rejected[scheduler] / sent if sent else 0.0

    def forget_counts(self) -> None:
        """Count from now on."""
        self.admitted.clear()
        self.rejected.clear()

    def _told(self, kind: str, pod: Any) -> None:
        self._let_go()
        uid, node = pod["metadata"]["uid"], pod["spec"].get("nodeName")
        if kind == "DELETED" or pod["status"].get("phase") in ("Succeeded", "Failed"):
            heapq.heappush(self._ended, (time.monotonic() + LINGERS, uid))
        elif pod["metadata"].get("deletionTimestamp"):
            self._writes.delete(pod)
        elif node in self._kubelets and uid not in self._judged:
            self._judge(pod, uid, node)

    def _judge(self, pod: Any, uid: str, node: str) -> None:
        self._judged[uid] = node
        wanted = {"pods": 1, **demand_of(pod, lambda _: None)}
        shortage = self._kubelets[node].admit(uid, wanted)
        scheduler = pod["spec"]["schedulerName"]
        (self.rejected if shortage else self.admitted)[scheduler] += 1
        self._writes.status(pod, shortage.status() if shortage else _running(pod))
        if self._run_for and not shortage:
            self._timers.append(threading.Timer(self._run_for, self._writes.status, (pod, {"phase": "Succeeded"})))
            self._timers[-1].start()

    def _let_go(self) -> None:
        now = time.monotonic()
        while self._ended and self._ended[0][0] <= now:
            _, uid = heapq.heappop(self._ended)
            if node := self._judged.pop(uid, None):
                self._kubelets[node].pods.pop(uid, None)


class StatusWrites:
    """What kubelets write, by a few connections; a pod that is gone by then is nobody's trouble."""

    def __init__(self, cluster: Cluster) -> None:
        self._admin, self._pool = Admin(cluster), ThreadPoolExecutor(WRITERS)

    def status(self, pod: Any, status: Manifest) -> None:
        """Write a pod's status."""
        body = {"metadata": {"uid": pod["metadata"]["uid"]}, "status": status}
        self._pool.submit(self._admin.patch, f"{_path(pod)}/status", body)

    def delete(self, pod: Any) -> None:
        """Remove a pod that has been asked to go."""
        same = {"uid": pod["metadata"]["uid"]}
        self._pool.submit(self._admin.delete, _path(pod), gracePeriodSeconds=0, preconditions=same)

    def close(self) -> None:
        """Write what there is to write, and end."""
        self._pool.shutdown()
        self._admin.close()


def _path(pod: Any) -> str:
    return f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"


def _running(pod: Any) -> Manifest:
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    kept = [each for each in pod["status"].get("conditions") or () if each["type"] != "Ready"]
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": now}
    return {"phase": "Running", "startTime": now, "conditions": [*kept, ready]}


def _amounts(allocatable: Mapping[str, str]) -> Amounts:
    return {name: units(name, parse(text)) for name, text in allocatable.items()}
