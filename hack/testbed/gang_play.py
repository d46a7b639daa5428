"""Gangs that come, run for a moment and go, with an eye on what a scheduler of gangs may never let happen.

Every pod takes one core, so that what fits is a matter of counting.
"""

import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from cluster.record import Cluster
from pilotage.model.gangs import MIN_LABEL, NAME_LABEL
from pilotage.testing import pod_manifest
from testbed.admin import Admin
from testbed.bulk import Bulk
from testbed.commands import Manifest
from testbed.pod_watch import PodWatch

PATIENCE = 300.0  # seconds for all of them to have run
PARTLY = 10.0  # seconds that the binds of one decision may take on a busy machine
IDLE = 30.0  # seconds without a bind though a whole gang would fit: the longest back-off, and twice the same again
LIFE = 0.5  # seconds that a gang runs once enough of its pods have a node
LOOK = 0.1  # seconds between two looks


@dataclass
class PlayedGang:
    """A gang, or with a size of one a single pod."""

    name: str
    size: int
    minimum: int
    fields: Mapping[str, Any] = field(default_factory=dict)
    bound: set[str] = field(default_factory=set)
    partly_since: float | None = None
    whole_since: float | None = None
    is_over: bool = False

    def pods(self, namespace: str, scheduler: str) -> list[Manifest]:
        """Return its pods."""
        labels = {} if self.size == 1 else {NAME_LABEL: self.name, MIN_LABEL: str(self.minimum)}
        common: dict[str, Any] = {
            "namespace": namespace,
            "scheduler": scheduler,
            "cpu": 1,
            "labels": {"gang": self.name, **labels},
        }
        return [pod_manifest(f"{self.name}-{n}", **common, **self.fields) for n in range(self.size)]


class GangPlay:
    """Plays gangs in a namespace until all of them have run; `violations` has what went wrong."""

    def __init__(
        self, cluster: Cluster, namespace: str, capacity: int, gangs: Sequence[PlayedGang], partly: float = PARTLY
    ) -> None:
        self.gangs = {gang.name: gang for gang in gangs}
        self.violations: list[str] = []
        self._partly = partly
        self.most_idle = 0.0  # seconds, the longest time without a bind though a whole gang would have fit
        self._cluster, self._namespace, self._capacity = cluster, namespace, capacity
        self._pods = f"/api/v1/namespaces/{namespace}/pods"
        self._admin = Admin(cluster)
        self._lock = threading.Lock()
        self._on_nodes: set[str] = set()
        self._idle_since: float | None = None
        self._watch = PodWatch(cluster, self._pods, self._seen)

    def __enter__(self) -> "GangPlay":
        self._watch.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._watch.stop()
        with closing(self._admin):
            self._admin.delete(self._pods, gracePeriodSeconds=0)

    def create(self, scheduler: str, *names: str) -> None:
        """Create the pods of some gangs, or of all; those of different gangs come mixed up."""
        chosen = [self.gangs[name] for name in names] if names else list(self.gangs.values())
        pods = [gang.pods(self._namespace, scheduler) for gang in chosen]
        longest = max(map(len, pods))
        with closing(Bulk(self._cluster)) as bulk:
            bulk.create([each[n] for n in range(longest) for each in pods if n < len(each)])

    def until_over(self, seconds: float = PATIENCE) -> None:
        """Let gangs go that have run, until all have."""
        deadline = time.monotonic() + seconds
        while waiting := [gang.name for gang in self.gangs.values() if not gang.is_over]:
            if time.monotonic() > deadline:
                self.violations.append(f"not over after {seconds:.0f} s: {', '.join(waiting)}")
                return
            self._end_those_that_ran()
            self._check()
            time.sleep(LOOK)

    def _end_those_that_ran(self) -> None:
        now = time.monotonic()
        for gang in self.gangs.values():
            if gang.is_over or gang.whole_since is None or now - gang.whole_since < LIFE:
                continue
            gang.is_over = True
            self._admin.delete(f"{self._pods}?labelSelector=gang%3D{gang.name}", gracePeriodSeconds=0)

    def _check(self) -> None:
        now = time.monotonic()
        with self._lock:
            waiting = [gang for gang in self.gangs.values() if not gang.is_over and gang.whole_since is None]
            for gang in waiting:
                if gang.partly_since is not None and now - gang.partly_since > self._partly:
                    text = f"{gang.name} runs with {len(gang.bound)} of {gang.minimum} for {self._partly:.0f} s"
                    self.violations += [text] if text not in self.violations else []
            free = self._capacity - len(self._on_nodes)
            fits = [gang for gang in waiting if gang.minimum <= free and not gang.bound]
            since = self._idle_since = (self._idle_since or now) if fits else None
        if since is None:
            return
        self.most_idle = max(self.most_idle, now - since)
        if now - since > IDLE:
            names = ", ".join(gang.name for gang in fits[:3])
            self.violations.append(
                f"{free} cores are free and nobody is bound for {IDLE:.0f} s while {names} would fit"
            )
            self._idle_since = now

    def _seen(self, event: str, pod: Any) -> None:
        name, gang = pod["metadata"]["name"], self.gangs.get(pod["metadata"].get("labels", {}).get("gang", ""))
        on_node = event != "DELETED" and bool(pod["spec"].get("nodeName"))
        with self._lock:
            if on_node and name not in self._on_nodes:
                self._idle_since = None  # somebody got a place
            (self._on_nodes.add if on_node else self._on_nodes.discard)(name)
            if gang is None or gang.is_over:
                return
            (gang.bound.add if on_node else gang.bound.discard)(name)
            now, count = time.monotonic(), len(gang.bound)
            partly = 0 < count < gang.minimum
            gang.partly_since = (gang.partly_since or now) if partly else None
            gang.whole_since = (gang.whole_since or now) if count >= gang.minimum else None
