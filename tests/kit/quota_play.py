"""Teams with elastic quotas whose pods come and go, with an eye on every max at every moment.

Quotas are of whole cores, so that what fits is a matter of counting.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any, NamedTuple

from kit.admin import Admin
from kit.commands import Manifest
from kit.pod_watch import PodWatch
from localcluster.record import Cluster
from pilotage.kinds.elastic_quota import PRIORITY_CLASSES
from pilotage.testing import pod_manifest

PATIENCE = 120.0  # seconds
LOOK = 0.1  # seconds between two looks
QUOTAS = "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/{}/elasticquotas"
# A team whose quota is changed after all others: when its pod is let in, the scheduler has heard of the others, too.
HERALD = "herald"


@dataclass(frozen=True)
class Bounds:
    """The bounds of a quota in cores, the teams that share it, and the priority class that it is for, if for one."""

    least: int
    most: int
    teams: frozenset[str]
    priority_class: str = ""


class Seen(NamedTuple):
    """A pod, and the node that it has."""

    team: str
    name: str
    cores: int
    node: str | None
    is_leaving: bool
    priority_class: str


class QuotaPlay:
    """Plays pods of teams, each in a namespace; `violations` tells when a pod brought a quota above its max."""

    def __init__(self, cluster: Cluster, scheduler: str) -> None:
        self.violations: list[str] = []
        self.gone: list[tuple[str, str]] = []  # team and name of pods that had a node, in the order in which they went
        self.quotas: dict[str, Bounds] = {}  # by the team in whose namespace it is, or team/class
        self._scheduler = scheduler
        self._admin = Admin(cluster)
        self._teams: list[str] = []
        self._running: dict[str, Seen] = {}  # by uid, as the watch tells
        self._lock = threading.Lock()
        self._heralds = 0
        self._watch = PodWatch(cluster, "/api/v1/pods", self._saw)

    def __enter__(self) -> "QuotaPlay":
        self._watch.start()
        self.team(HERALD)
        self._put_quota(HERALD, {"max": {"pods": 0}})  # before there is a scheduler: it may know no time without it
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._watch.stop()
        with closing(self._admin):
            for team in self._teams:
                # The next play must meet neither its quotas nor its pods.
                self._admin.delete(QUOTAS.format(self.namespace(team)))
                self._admin.delete(self._pods(team), gracePeriodSeconds=0)
                self._admin.delete(f"/api/v1/namespaces/{self.namespace(team)}")

    # ------------------------------------------------------------------------------------------------------- playing

    def namespace(self, team: str) -> str:
        """Return the namespace of a team."""
        return f"{self._scheduler}-{team}"

    def team(self, name: str, **labels: str) -> None:
        """Add a team."""
        namespace = self.namespace(name)
        self._admin.post("/api/v1/namespaces", {"metadata": {"name": namespace, "labels": labels}})
        self._teams.append(name)
        account = f"/api/v1/namespaces/{namespace}/serviceaccounts/default"
        self.until(lambda: self._admin.find(account), f"{name} has a service account")

    def label(self, team: str, **labels: str | None) -> None:
        """Change the labels of a team's namespace; None takes one away."""
        self._admin.patch(f"/api/v1/namespaces/{self.namespace(team)}", {"metadata": {"labels": labels}})

    def quota(
        self, team: str, least: int, most: int, shared_with: Iterable[str] = (), of_class: str = "", **selector: str
    ) -> None:
        """Create or change the quota of a team, or that of one of its priority classes, until the scheduler knows."""
        spec: Manifest = {"min": {"cpu": least}, "max": {"cpu": most}}
        if selector:
            spec = {**spec, "namespaceSelector": {"matchLabels": selector}}
        with self._lock:
            key = f"{team}/{of_class}" if of_class else team
            self.quotas[key] = Bounds(least, most, frozenset((team, *shared_with)), of_class)
        self._put_quota(team, spec, of_class)
        self.until_heard()

    def until_heard(self) -> None:
        """Wait until the scheduler has heard of every quota as it is now."""
        self._heralds += 1
        self._put_quota(HERALD, {"max": {"pods": self._heralds}})
        self.create(HERALD, f"{HERALD}-{self._heralds}", cpu=None)
        self.until(lambda: len(self.running(HERALD)) >= self._heralds, "the scheduler has heard of the quotas")

    def create(self, team: str, *names: str, cpu: int | None = 1, **fields: Any) -> None:
        """Create pods of a team, as fast as it goes."""
        common = {"namespace": self.namespace(team), "scheduler": self._scheduler, "cpu": cpu, **fields}
        self._admin.create([pod_manifest(name, **common) for name in names])

    def delete(self, team: str, *names: str) -> None:
        """Delete pods of a team."""
        for name in names:
            self._admin.delete(f"{self._pods(team)}/{name}", gracePeriodSeconds=0)

    # ------------------------------------------------------------------------------------------------------- looking

    def pods(self) -> list[Seen]:
        """Return the pods of all teams but the herald, as the API has them at one moment."""
        found = (self._seen(pod) for pod in self._admin.get("/api/v1/pods")["items"])
        return [pod for pod in found if pod is not None and pod.team != HERALD]

    def running(self, *teams: str) -> set[str]:
        """Return the pods of some teams that have a node, as the watch has told."""
        with self._lock:
            return {pod.name for pod in self._running.values() if pod.team in teams}

    def message(self, team: str, name: str) -> str:
        """Return why a pod waits."""
        pod = self._admin.get(f"{self._pods(team)}/{name}")
        refused = [each for each in pod["status"].get("conditions", ()) if each["type"] == "PodScheduled"]
        return str(refused[0].get("message", "")) if refused else ""

    def messages(self, team: str) -> dict[str, str]:
        """Return why the pods of a team wait, by name."""
        waiting = [pod.name for pod in self.pods() if pod.team == team and not pod.node]
        return {name: self.message(team, name) for name in waiting}

    def unrest(self) -> list[str]:
        """Return what cannot stay as it is: pods that leave, or wait though their quota would let them in."""
        pods = self.pods()
        leaving = [f"{pod.team}/{pod.name} leaves" for pod in pods if pod.is_leaving]
        used = self.used(pods)
        return leaving + [
            f"{pod.team}/{pod.name} waits for {pod.cores} cores" for pod in pods if not self._is_in_place(pod, used)
        ]

    def used(self, pods: Iterable[Seen]) -> Counter[str]:
        """Return the cores that the pods of each quota have."""
        found: Counter[str] = Counter()
        for pod in pods:
            if pod.node and (quota := self._quota_of(pod)):
                found[quota] += pod.cores
        return found

    def _is_in_place(self, pod: Seen, used: Counter[str]) -> bool:
        """Tell whether a pod has a node, or waits rightly."""
        quota = self._quota_of(pod)
        if pod.node or quota is None:
            return bool(pod.node)
        bounds, with_pod = self.quotas[quota], used[quota] + pod.cores
        borrows_in_vain = used.total() + pod.cores > sum(each.least for each in self.quotas.values())
        return with_pod > bounds.most or (with_pod > bounds.least and borrows_in_vain)

    def _quota_of(self, pod: Seen) -> str | None:
        claims = {name: bounds for name, bounds in self.quotas.items() if pod.team in bounds.teams}
        own = [name for name, bounds in claims.items() if bounds.priority_class == pod.priority_class]
        return next(iter(own + [name for name, bounds in claims.items() if not bounds.priority_class]), None)

    # ------------------------------------------------------------------------------------------------------- waiting

    def until(self, holds: Callable[[], object], what: str, seconds: float = PATIENCE) -> None:
        """Wait until something holds."""
        deadline = time.monotonic() + seconds
        while not holds():
            if time.monotonic() > deadline:
                waiting = [pod for pod in self.pods() if not pod.node]
                reasons = {f"{pod.team}/{pod.name}": self.message(pod.team, pod.name) for pod in waiting}
                raise AssertionError(f"after {seconds:g} s it is not so that {what}: {reasons}")
            time.sleep(LOOK)

    def until_rest(self) -> None:
        """Wait until every pod has a node or waits rightly."""
        deadline = time.monotonic() + PATIENCE
        while unrest := self.unrest():
            used = dict(self.used(self.pods()))
            assert time.monotonic() < deadline, f"no rest after {PATIENCE:.0f} s: {unrest}, used {used}, {self.quotas}"
            time.sleep(LOOK)

    def until_refused(self, team: str, name: str) -> str:
        """Wait until it is told why a pod waits; returns it."""
        self.until(partial(self.message, team, name), f"{name} is refused")
        return self.message(team, name)

    # ------------------------------------------------------------------------------------------------------ watching

    def _saw(self, event: str, manifest: Any) -> None:
        pod, uid = self._seen(manifest), manifest["metadata"]["uid"]
        if pod is None:
            return
        with self._lock:
            if event == "DELETED":
                if self._running.pop(uid, None):
                    self.gone.append((pod.team, pod.name))
            elif pod.node:
                is_new = uid not in self._running
                self._running[uid] = pod
                if is_new:
                    self._check(pod)

    def _check(self, pod: Seen) -> None:
        quota = self._quota_of(pod)
        if quota is None:
            return
        used, most = self.used(self._running.values())[quota], self.quotas[quota].most
        if used > most:
            self.violations.append(f"with {pod.team}/{pod.name} quota {quota} has {used} cores of {most}")

    def _seen(self, pod: Any) -> Seen | None:
        metadata, spec = pod["metadata"], pod["spec"]
        prefix, _, team = metadata["namespace"].rpartition("-")
        if prefix != self._scheduler:
            return None
        requests = (each.get("resources", {}).get("requests", {}) for each in spec["containers"])
        cores = sum(int(each.get("cpu", 0)) for each in requests)
        is_leaving, priority_class = "deletionTimestamp" in metadata, spec.get("priorityClassName", "")
        return Seen(team, metadata["name"], cores, spec.get("nodeName"), is_leaving, priority_class)

    def _put_quota(self, team: str, spec: Manifest, of_class: str = "") -> None:
        collection, name = QUOTAS.format(self.namespace(team)), of_class or "quota"
        if self._admin.find(f"{collection}/{name}"):
            self._admin.patch(f"{collection}/{name}", {"spec": spec})
            return
        metadata = {"name": name, "annotations": {PRIORITY_CLASSES: of_class} if of_class else {}}
        head = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "ElasticQuota", "metadata": metadata}
        self._admin.post(collection, {**head, "spec": spec})

    def _pods(self, team: str) -> str:
        return f"/api/v1/namespaces/{self.namespace(team)}/pods"
