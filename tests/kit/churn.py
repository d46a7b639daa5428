"""Keeps a scheduler busy without end and makes nothing larger: whatever comes goes again some rounds later.

A round is about a second. What is there depends on the number of rounds and not on their pace, so that a slow machine
sees the same load, later.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing
from random import Random
from types import TracebackType
from typing import Any

from kit.admin import Admin, Refused
from kit.commands import Manifest
from localcluster.record import Cluster
from pilotage.testing import node_manifest, pod_manifest

ROUND = 1.0  # seconds
LIFE = 20  # rounds that a pod has
NODES = 30
VISITORS = 5  # nodes besides them that come and go
ORDINARY = 8  # pods in a round that find a place
LOW, HIGH = "soak-low", "soak-high"
BREAKS = "soak-breaks"  # a label: a plugin raises for such pods
ZONE = "topology.kubernetes.io/zone"

BREAKING_PLUGIN = f'''
"""A plugin with a fault."""

from pilotage.framework.api.plugin import Filter


class Breaks(Filter):
    """Raise for some pods."""

    def filter(self, cycle, pod, node):
        if "{BREAKS}" in pod.labels:
            raise RuntimeError("this pod is too much for me")
'''


def nodes() -> list[Manifest]:
    """Return the nodes that stay; one is for pods that evict each other."""
    return [
        *(node_manifest(f"soak-{n}", cpu="16", memory="64Gi", labels={ZONE: f"z{n % 3}"}) for n in range(NODES)),
        node_manifest("soak-full", cpu="2", labels={"soak": "full"}, taints=[_taint("full")]),
    ]


class Churn:
    """A thread that creates, changes and deletes pods and nodes for as long as the block lasts.

    Some pods of each round are like none before, as in a cluster of many users; after `variety` of them they repeat.
    """

    def __init__(self, cluster: Cluster, namespace: str, scheduler: str, variety: int) -> None:
        self.rounds = 0
        self.created = 0
        self._admin = Admin(cluster)
        self._namespace = namespace
        self._pods = f"/api/v1/namespaces/{namespace}/pods"
        self._scheduler = scheduler
        self._variety = variety
        self._random = Random(0)
        self._alive: deque[tuple[int, str]] = deque()  # the round in which a pod came, and its name
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="churn")
        self.trouble: Exception | None = None

    def __enter__(self) -> "Churn":
        for name, value in ((LOW, 10), (HIGH, 1000)):
            manifest = {"metadata": {"name": name}, "value": value}
            if self._admin.find(f"/apis/scheduling.k8s.io/v1/priorityclasses/{name}") is None:
                self._admin.post("/apis/scheduling.k8s.io/v1/priorityclasses", manifest)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopped.set()
        self._thread.join()
        with closing(self._admin):
            self._admin.delete(self._pods, gracePeriodSeconds=0)
            self._admin.delete("/api/v1/nodes?labelSelector=soak%3Dvisitor")
            for name in (LOW, HIGH):
                self._admin.delete(f"/apis/scheduling.k8s.io/v1/priorityclasses/{name}")

    def _run(self) -> None:
        try:
            while not self._stopped.is_set():
                begun = time.monotonic()
                self._play_round()
                self.rounds += 1
                self._stopped.wait(max(0.0, ROUND - (time.monotonic() - begun)))
        except Exception as error:
            self.trouble = error

    def _play_round(self) -> None:
        for step in (self._come, self._change, self._go, self._visit):
            step()

    # --------------------------------------------------------------------------------------------------------- pods

    def _come(self) -> None:
        for fields in self._newcomers():
            self.created += 1
            name = f"churn-{self.created}"
            self._admin.post(self._pods, pod_manifest(name, namespace=self._namespace, **self._with_defaults(fields)))
            self._alive.append((self.rounds, name))

    def _with_defaults(self, fields: dict[str, Any]) -> dict[str, Any]:
        # As the pods of a Job have: nobody else's labels are the same.
        labels = {"app": f"app-{self.created % 7}", "job": self._job, **fields.get("labels", {})}
        return {"scheduler": self._scheduler, **fields, "labels": labels}

    @property
    def _job(self) -> str:
        return f"job-{self.created // 3 % self._variety}"

    def _newcomers(self) -> Iterator[dict[str, Any]]:
        number = self.rounds % self._variety
        for kind in range(ORDINARY):
            yield self._ordinary(kind)
        yield {"node_selector": {"soak": "nowhere"}}
        yield {"node_selector": {"sometimes": "yes"}}
        yield {"cpu": "1000", "labels": {"wants": f"much-{number}"}}
        yield {"gates": ["example.com/wait"]}
        yield {"labels": {BREAKS: "yes"}, "cpu": "10m"}
        yield {"scheduler": "somebody-else", "cpu": "10m"}
        if self.rounds % 5 == 0:
            yield from ({**self._in_the_full_one(LOW), "cpu": "900m"} for _ in range(2))
        if self.rounds % 5 == 2:
            yield {**self._in_the_full_one(HIGH), "cpu": "1500m"}
        if self.rounds % 30 == 0:
            yield from ({"node_selector": {"soak": f"flood-{number}"}} for _ in range(50))

    def _ordinary(self, kind: int) -> dict[str, Any]:
        """Return one of the kinds of pods that find a place."""
        number = self.rounds % self._variety
        match kind:
            case 0:
                return {"cpu": f"{number % 997 + 1}m", "memory": f"{number % 1009 + 1}Mi"}
            case 1:
                job = {"matchLabels": {"job": self._job}}
                apart = {"topologyKey": "kubernetes.io/hostname", "labelSelector": job}
                return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}}}
            case 2:
                spread = {"maxSkew": 3, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
                own = {"labelSelector": {"matchLabels": {"app": "spread"}}}
                return {"labels": {"app": "spread"}, "spec": {"topologySpreadConstraints": [spread | own]}}
            case 3:
                return {"host_ports": [8000 + self.created % 50], "cpu": "50m"}
            case 4:
                return {"tolerations": [{"key": "job", "value": f"{number}"}], "cpu": "20m"}
            case 5:
                expression = {"key": ZONE, "operator": "In", "values": [f"z{self.created % 3}"]}
                term = {"weight": 10, "preference": {"matchExpressions": [expression]}}
                return {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}}
        return {"cpu": "100m", "memory": "100Mi"}

    def _in_the_full_one(self, priority: str) -> dict[str, Any]:
        tolerations = [{"key": "soak", "operator": "Exists"}]
        return {"priority_class": priority, "tolerations": tolerations, "node_selector": {"soak": "full"}}

    def _change(self) -> None:
        """Change pods in the middle of their life: open gates, fail, get other labels."""
        for born, name in self._alive:
            age = self.rounds - born
            if age == LIFE // 4 and self._random.random() < 0.3:
                self._try(
                    self._admin.patch, f"{self._pods}/{name}", {"metadata": {"labels": {"seen": f"{self.rounds}"}}}
                )
                self._try(self._admin.patch, f"{self._pods}/{name}", {"spec": {"schedulingGates": None}})
            if age == LIFE // 2 and self._random.random() < 0.1:
                self._try(self._admin.patch, f"{self._pods}/{name}/status", {"status": {"phase": "Failed"}})

    def _go(self) -> None:
        while self._alive and self.rounds - self._alive[0][0] >= LIFE:
            _, name = self._alive.popleft()
            grace = self._random.choice(({}, {"gracePeriodSeconds": 0}))
            self._admin.delete(f"{self._pods}/{name}", **grace)

    # -------------------------------------------------------------------------------------------------------- nodes

    def _visit(self) -> None:
        """Let nodes come, change and go."""
        number = self.rounds
        changed, wished = number % NODES, "yes" if number % 10 < 5 else None
        labels = {"round": f"{number}", "sometimes": wished if changed == 0 else None}
        self._admin.patch(f"/api/v1/nodes/soak-{changed}", {"metadata": {"labels": labels}})
        for other, closed in ((number + 1, True), (number - 3, False)):
            self._admin.patch(f"/api/v1/nodes/soak-{other % NODES}", {"spec": {"unschedulable": closed}})
        if number % 3 == 0:
            taints = [_taint(f"visitor-{number}")] if number % 2 else []
            visitor = node_manifest(f"visitor-{number}", labels={"soak": "visitor", ZONE: "z0"}, taints=taints)
            self._admin.post("/api/v1/nodes", visitor)
            self._admin.delete(f"/api/v1/nodes/visitor-{number - 3 * VISITORS}")

    def _try(self, call: Callable[..., Any], *words: Any) -> None:
        """Do something to a pod that may be gone, or not take it."""
        try:
            call(*words)
        except Refused as refused:
            if refused.status not in (404, 409, 422):
                raise


def _taint(value: str) -> dict[str, str]:
    return {"key": "soak", "value": value, "effect": "NoSchedule"}
