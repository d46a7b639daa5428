"""A queue with a clock that stands still, gates that open on demand, and plugins that say what they are told to."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from pilotage.framework.api.events import Action, Event, Resource, Retry
from pilotage.framework.api.plugin import PreEnqueue
from pilotage.framework.api.verdicts import Rejection
from pilotage.model.pod import Pod
from pilotage.queue.active import by_priority
from pilotage.queue.queued_pod import QueuedPod
from pilotage.queue.scheduling_queue import SchedulingQueue

SCHEDULER = "default-scheduler"


class Clock:
    """Time that passes when it is told to."""

    def __init__(self, now: float = 1000.25) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


class Gate(PreEnqueue):
    """Shut for the pods that are named, with a reason each."""

    def __post_init__(self) -> None:
        self._reasons: dict[str, str | Exception] = {}
        self._asked: list[str] = []

    @property
    def asked(self) -> list[str]:
        return self._asked

    def shut(self, name: str, reason: str | Exception = "not yet") -> None:
        self._reasons[name] = reason

    def open(self) -> None:
        self._reasons.clear()

    def pre_enqueue(self, pod: Pod) -> Rejection | None:
        self._asked.append(pod.name)
        reason = self._reasons.get(pod.name)
        if isinstance(reason, Exception):
            raise reason
        return None if reason is None else Rejection(reason, preemption_helps=False)


class Door(Gate):
    """Another gate."""


class Rejector:
    """A plugin whose hint answers, or fails, as it was told, and remembers what it was asked."""

    def __init__(self, name: str, answer: bool | Exception = True) -> None:
        self.name = name
        self.answer = answer
        self.asked: list[tuple[str, str, Any, Any]] = []

    def hint(self, pod: Pod, event: Event, old: Any, new: Any) -> bool:
        self.asked.append((pod.name, event.name, old, new))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


NODE_ADD = Event(Resource.NODE, Action.ADD)
NODE_LABEL = Event(Resource.NODE, Action.UPDATE_NODE_LABEL)
POD_DELETE = Event(Resource.ASSIGNED_POD, Action.DELETE)


class World:
    """A queue and everything around it: Fit waits for nodes and deletions, Taint for nodes, Labels for its own pod."""

    def __init__(self, **options: Any) -> None:
        self.clock = Clock()
        self.gate, self.door = Gate(), Door()
        self.fit, self.taint, self.labels = Rejector("Fit"), Rejector("Taint"), Rejector("Labels")
        options.setdefault("sort", by_priority)
        options.setdefault("gates", lambda pod: [self.gate, self.door])
        options.setdefault("retries", self.retries)
        self.queue = SchedulingQueue(clock=self.clock, **options)

    @property
    def retries(self) -> dict[str, list[tuple[Any, Retry]]]:
        return {
            SCHEDULER: [
                (self.fit, Retry(Resource.NODE, Action.ADD, "hint")),
                (self.fit, Retry(Resource.ASSIGNED_POD, Action.DELETE, "hint")),
                (self.taint, Retry(Resource.NODE, Action.ADD | Action.UPDATE_NODE_TAINT, "hint")),
                (self.labels, Retry(Resource.TARGET_POD, Action.UPDATE_POD_LABEL, "hint")),
                (self.gate, Retry(Resource.TARGET_POD, Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED)),
                (self.door, Retry(Resource.ASSIGNED_POD, Action.DELETE)),
            ]
        }

    def place(self, pod: Pod) -> str:
        """Return where a pod is."""
        queued = self.queue.find(pod.key)
        if queued is None:
            return "in flight" if self.queue.is_in_flight(pod.uid) else "nowhere"
        assert queued.place is not None
        return queued.place.name

    def places(self, *pods: Pod) -> list[str]:
        return [self.place(pod) for pod in pods]

    def pop(self) -> QueuedPod:
        queued = self.queue.pop()
        assert queued is not None
        return queued

    def take(self, pod: Pod) -> QueuedPod:
        """Add a pod and take it at once."""
        self.queue.add(pod)
        queued = self.pop()
        assert queued.pod is pod
        return queued

    def park(self, pod: Pod, plugins: Sequence[str] = ("Fit",), pending: Sequence[str] = ()) -> QueuedPod:
        """Add a pod and let it fail."""
        queued = self.take(pod)
        self.queue.add_unschedulable(queued, plugins, pending)
        return queued

    def bring(self, pod: Pod, place: str) -> None:
        """Get a pod to a place; those that were rejected before may be in back-off then."""
        if place == "gated":
            self.gate.shut(pod.name)
        self.queue.add(pod)
        if place in ("backoff", "unschedulable"):
            queued = self.pop()
            assert queued.pod is pod
            if place == "backoff":
                self.queue.move_all(NODE_ADD)
            self.queue.add_unschedulable(queued, ["Fit"])
        self.gate.open()
        assert self.place(pod) == place

    def wait_for_backoff(self) -> None:
        """Let enough time pass for any back-off, but nobody is told."""
        self.clock.now += 12


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def make_world() -> Callable[..., World]:
    return World
