"""Questions to schedulers: pods of the lowest rank that fit nowhere; to turn one away is the answer."""

import threading
import time
from collections.abc import Set
from dataclasses import dataclass
from typing import Any

from kit.admin import Admin
from kit.gang_judge import GangJudge
from pilotage.testing import pod_manifest

SILENCE = 120.0  # seconds without an answer, after which a scheduler does nothing at all
LOOK = 0.1  # seconds between two looks
LABEL = "gang-question"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
LOWEST = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": LABEL},
    "value": -1_000_000,
    "preemptionPolicy": "Never",
}


def is_question(pod: Any) -> bool:
    """Tell whether a pod is one of them."""
    return LABEL in pod["metadata"].get("labels", {})


@dataclass
class Question:
    """One that is asked, and perhaps answered."""

    pod: str
    number: int
    asked: float
    is_answered: bool = False


class GangQuestions:
    """Asks each scheduler one question at a time, and brings the answers to the judge."""

    def __init__(self, admin: Admin, namespace: str, judge: GangJudge, lock: threading.Lock) -> None:
        self.complaints: list[str] = []
        self._admin, self._namespace, self._judge, self._lock = admin, namespace, judge, lock
        self._pods = f"/api/v1/namespaces/{namespace}/pods"
        self._open: dict[str, Question] = {}  # by scheduler
        self.asked = 0

    def prepare(self) -> None:
        """Make sure that there is a lowest rank."""
        if self._admin.find(f"{CLASSES}/{LABEL}") is None:
            self._admin.post(CLASSES, LOWEST)

    def until_answered(self, scheduler: str) -> None:
        """Wait until a scheduler works: while it still starts, nobody can be passed over."""
        self.go_on({scheduler})
        while not self._open[scheduler].is_answered:
            assert time.monotonic() - self._open[scheduler].asked < SILENCE, f"{scheduler} does not start"
            time.sleep(LOOK)
        self.go_on(set())

    def go_on(self, schedulers: Set[str]) -> None:
        """Take away what is answered, and ask these schedulers again that have answered."""
        for scheduler, question in list(self._open.items()):
            if question.is_answered:
                del self._open[scheduler]
                self._admin.delete(f"{self._pods}/{question.pod}", gracePeriodSeconds=0)
            elif time.monotonic() - question.asked > SILENCE:
                text = f"{scheduler} decides nothing for {SILENCE:.0f} s"
                self.complaints += [text] if text not in self.complaints else []
        for scheduler in sorted(schedulers - self._open.keys()):
            self._ask(scheduler)

    def seen(self, event: str, pod: Any) -> None:
        """Look at what has become of a question; the lock is held."""
        question = self._open.get(pod["spec"]["schedulerName"])
        if event == "DELETED" or question is None or question.pod != pod["metadata"]["name"] or question.is_answered:
            return
        if any(each["type"] == "PodScheduled" for each in pod["status"].get("conditions", [])):
            question.is_answered = True
            self._judge.answered(question.number, pod["spec"]["schedulerName"])

    def _ask(self, scheduler: str) -> None:
        self.asked += 1
        name = f"question-{self.asked}"
        manifest = pod_manifest(
            name,
            namespace=self._namespace,
            scheduler=scheduler,
            labels={LABEL: ""},
            priority_class=LABEL,
            node_selector={LABEL: "nowhere"},
        )
        with self._lock:
            self._open[scheduler] = Question(name, self._judge.ask(), time.monotonic())
        self._admin.post(self._pods, manifest)
