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

from kit.admin import Admin
from kit.commands import Manifest
from kit.gang_judge import GangJudge, Judged
from kit.gang_questions import LOOK, GangQuestions, is_question
from kit.pod_watch import PodWatch
from localcluster.record import Cluster
from pilotage.model.gangs import MIN_LABEL, NAME_LABEL
from pilotage.testing import pod_manifest

PATIENCE = 300.0  # seconds for all of them to have run
CALM = 1.0  # seconds that a claim may stand before the scheduler is asked: questions are load, and wake it
LIFE = 0.5  # seconds that a gang runs once enough of its pods have a node


@dataclass
class PlayedGang:
    """A gang, or with a size of one a single pod."""

    name: str
    size: int
    minimum: int
    fields: Mapping[str, Any] = field(default_factory=dict)

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

    def __init__(self, cluster: Cluster, namespace: str, capacity: int, gangs: Sequence[PlayedGang]) -> None:
        self.gangs = {gang.name: gang for gang in gangs}
        self.longest_claim = 0.0  # seconds that some gang fitted, or ran partly, and nobody was bound
        self._judge = GangJudge(capacity, (Judged(gang.name, gang.minimum) for gang in gangs))
        self._namespace = namespace
        self._pods = f"/api/v1/namespaces/{namespace}/pods"
        self._admin = Admin(cluster)
        self._lock = threading.Lock()
        self._questions = GangQuestions(self._admin, namespace, self._judge, self._lock)
        self._began = time.monotonic()
        self._whole_since: dict[str, float] = {}
        self._bound = self._bound_before = 0
        self._calm_since = time.monotonic()  # there is a claim, and nobody was bound
        self._late: list[str] = []
        self._watch = PodWatch(cluster, self._pods, self._seen)

    def __enter__(self) -> "GangPlay":
        self._questions.prepare()
        self._watch.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._watch.stop()
        with closing(self._admin):
            self._admin.delete(self._pods, gracePeriodSeconds=0)

    @property
    def violations(self) -> list[str]:
        """Return what went wrong so far."""
        with self._lock:
            return [*self._judge.violations, *self._questions.complaints, *self._late]

    @property
    def figures(self) -> str:
        """Return what a reader wants to know of a run."""
        took = time.monotonic() - self._began
        return (
            f"{took:.1f} s, {self.longest_claim:.1f} s at the most without a bind while a gang fitted or ran partly, "
            f"{self._questions.asked} questions"
        )

    def create(self, scheduler: str, *names: str) -> None:
        """Create the pods of some gangs, or of all, mixed up, once their scheduler works."""
        self._questions.until_answered(scheduler)
        chosen = [self.gangs[name] for name in names] if names else list(self.gangs.values())
        for gang in chosen:
            self._judge.gangs[gang.name].scheduler = scheduler
        pods = [gang.pods(self._namespace, scheduler) for gang in chosen]
        longest = max(map(len, pods))
        self._admin.create([each[n] for n in range(longest) for each in pods if n < len(each)])

    def until_over(self, seconds: float = PATIENCE) -> None:
        """Let gangs go that have run, until all have."""
        deadline = time.monotonic() + seconds
        while waiting := [name for name, gang in self._judge.gangs.items() if not gang.is_over]:
            if time.monotonic() > deadline:
                self._late.append(f"not over after {seconds:.0f} s: {', '.join(waiting)}")
                return
            self._end_those_that_ran(waiting)
            self._ask_if_it_takes_long()
            time.sleep(LOOK)

    def _end_those_that_ran(self, running: Sequence[str]) -> None:
        now = time.monotonic()
        with self._lock:
            ran = [name for name in running if now - self._whole_since.get(name, now) >= LIFE]
            for name in ran:
                self._judge.goes(name)
        for name in ran:
            self._admin.delete(f"{self._pods}?labelSelector=gang%3D{name}", gracePeriodSeconds=0)

    def _ask_if_it_takes_long(self) -> None:
        now = time.monotonic()
        with self._lock:
            schedulers = {self._judge.gangs[name].scheduler for name in self._judge.claimants()}
            if not schedulers or self._bound != self._bound_before:
                self._calm_since, self._bound_before = now, self._bound
            waited = now - self._calm_since
        self.longest_claim = max(self.longest_claim, waited)
        self._questions.go_on(schedulers if waited > CALM else set())

    def _seen(self, event: str, pod: Any) -> None:
        name, gang = pod["metadata"]["name"], pod["metadata"].get("labels", {}).get("gang", "")
        with self._lock:
            if is_question(pod):
                self._questions.seen(event, pod)
            elif gang in self.gangs:
                self._follow(event, gang, name, on_node=bool(pod["spec"].get("nodeName")))

    def _follow(self, event: str, gang: str, pod: str, *, on_node: bool) -> None:
        judged = self._judge.gangs[gang]
        if event == "DELETED":
            self._judge.is_gone(gang, pod)
        elif not on_node:
            self._judge.waits(gang, pod)
        elif pod not in judged.bound:
            self._judge.is_bound(gang, pod)
            self._bound += 1
        if len(judged.bound) < judged.minimum:
            self._whole_since.pop(gang, None)
        else:
            self._whole_since.setdefault(gang, time.monotonic())
