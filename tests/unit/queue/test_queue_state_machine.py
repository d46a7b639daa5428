"""Any history of the queue: no pod lost, none in two places, none out of turn."""

from collections.abc import Iterator
from math import floor
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kit.tiers import examples
from pilotage.framework.api.events import Action, Event, Resource, Retry
from pilotage.framework.api.plugin import PreEnqueue
from pilotage.framework.api.verdicts import Rejection
from pilotage.model.pod import Pod
from pilotage.queue.active import by_priority
from pilotage.queue.queued_pod import QueuedPod
from pilotage.queue.scheduling_queue import SchedulingQueue
from pilotage.testing import make_pod

SCHEDULER = "default-scheduler"
NAMES = st.sampled_from("abcdef")
NODES = st.sampled_from(["", "n1", "n2"])
# Who waits for what; Deaf for nothing. Trusting has no hint, the others say yes to a number that is large enough.
PLUGINS = ["Fit", "Taint", "Trusting", "Deaf"]
SETS = st.sets(st.sampled_from(PLUGINS), max_size=2)
# When a plugin wants another try, counted from now.
LATER = st.none() | st.sampled_from([-1.0, 0.5, 3.0, 200.0])
SECONDS = st.sampled_from([0.0, 0.25, 0.5, 1.0, 2.0, 3.0, 11.0, 150.0, 301.0])
EVENTS = {
    "NodeAdd": Event(Resource.NODE, Action.ADD),
    "NodeLabel": Event(Resource.NODE, Action.UPDATE_NODE_LABEL),
    "PodDelete": Event(Resource.ASSIGNED_POD, Action.DELETE),
    "Nobodys": Event(Resource.CSI_NODE, Action.ADD),
}
HAPPENINGS = st.sampled_from(sorted(EVENTS))
INTEREST = {
    "Fit": {"NodeAdd", "PodDelete"},
    "Taint": {"NodeAdd", "NodeLabel"},
    "Trusting": {"PodDelete"},
    "Deaf": set[str](),
    "Gate": {"PodDelete"},
}


class Plugin:
    """Says that an event helps if the number that comes with it is at least the pod's priority."""

    def __init__(self, name: str) -> None:
        self.name = name

    def hint(self, pod: Pod, event: Event, old: Any, new: Any) -> bool:
        if new < 0:
            raise ValueError("no hint")
        return bool(new >= pod.priority)


shut_out: set[str] = set()


class Gate(PreEnqueue):
    """Lets in whoever is not on the list."""

    def pre_enqueue(self, pod: Pod) -> Rejection | None:
        return Rejection("shut") if pod.name in shut_out else None


def registered() -> Iterator[tuple[Any, Retry]]:
    for name in PLUGINS:
        hint = None if name == "Trusting" else "hint"
        for event in sorted(INTEREST[name]):
            yield Plugin(name), Retry(EVENTS[event].resource, EVENTS[event].action, hint)
    for event in INTEREST["Gate"]:
        yield Gate(), Retry(EVENTS[event].resource, EVENTS[event].action)


class Expected:
    """What the model knows about a pod that waits or is in flight."""

    def __init__(self, pod: Pod, now: float) -> None:
        self.pod = pod
        self.place = ""
        self.since = now
        self.flushed = 0.0
        self.again_at: float | None = None
        self.rejections = self.errors = self.attempts = 0
        self.rejectors: set[str] = set()
        self.pending: set[str] = set()
        self.gated = False
        self.failed = False  # in back-off after an error, where nobody takes it early
        self.seen: list[tuple[str, int]] = []  # what has happened since it was taken
        self.queued: QueuedPod | None = None

    def ends(self) -> float:
        count = self.errors or self.rejections
        return floor(self.since + min(2 ** (count - 1), 10)) if count else -1.0

    def advice(self, event: str, number: int) -> int:
        """Return 0 to stay, 1 to be tried after back-off, 2 to be tried at once."""
        if not self.rejectors | self.pending or event == "everybody":
            return 1

        def helps(plugin: str) -> bool:
            wanted = event in INTEREST[plugin]
            return wanted and (plugin in ("Trusting", "Gate") or number < 0 or number >= self.pod.priority)

        return 2 if any(map(helps, self.pending)) else int(any(map(helps, self.rejectors)))


class QueueMachine(RuleBasedStateMachine):
    """The queue beside a model that says the same in a slower and simpler way."""

    gate_tells = False  # whether the queue may rely on being told that the gate opens

    @initialize(names=st.lists(NAMES, min_size=2, unique=True))
    def start(self, names: list[str]) -> None:
        shut_out.clear()
        Gate.reports_opening = self.gate_tells
        self.now = 1000.25
        self.queue = SchedulingQueue(by_priority, lambda pod: [Gate()], {SCHEDULER: [*registered()]}, lambda: self.now)
        self.uids = 0
        self.waiting: dict[str, Expected] = {}
        self.flying: dict[str, Expected] = {}
        self.binding: dict[str, Expected] = {}
        self.existing: dict[str, Pod] = {}  # what the API server has and nobody has bound
        self.nominated: dict[str, str] = {}
        self.last_nominations: dict[str, list[Pod]] = {}
        self.last_version = 0
        for name in names:
            self.create(name, 1, "")

    def make(self, name: str, priority: int, node: str = "", uid: str = "") -> Pod:
        if not uid:
            self.uids += 1
        return make_pod(name, uid=uid or f"uid-{self.uids}", priority=priority, status={"nominatedNodeName": node})

    # ------------------------------------------------------------------------------------------------ the model

    def enter(self, pod: Expected, place: str) -> None:
        """Put a pod to a place; active and backoff are behind the gate."""
        if place in ("active", "backoff"):
            pod.gated = pod.pod.name in shut_out
            if pod.gated:
                pod.rejectors.add("Gate")
        pod.place = "gated" if pod.gated else place
        pod.failed = place == "backoff" and not pod.rejectors | pod.pending
        self.waiting[pod.pod.key] = pod

    def requeue(self, pod: Expected, advice: int) -> None:
        if advice == 0:
            self.enter(pod, "unschedulable")
        else:
            self.enter(pod, "backoff" if advice == 1 and pod.ends() >= floor(self.now) else "active")

    def happen(self, event: str, number: int, pods: list[Expected]) -> None:
        for pod in pods:
            if (not pod.gated or event == "everybody" or event in INTEREST["Gate"]) and pod.advice(event, number):
                self.requeue(pod, pod.advice(event, number))
        for flying in self.flying.values():
            flying.seen.append((event, number))

    def nomination(self, pod: Pod, node: str) -> None:
        self.nominated.pop(pod.uid, None)
        if node:
            self.nominated[pod.uid] = node

    def parked(self) -> list[Expected]:
        return [pod for pod in self.waiting.values() if pod.place in ("unschedulable", "gated")]

    # --------------------------------------------------------------------------------------------- the API server

    @rule(name=NAMES, priority=st.integers(0, 3), node=NODES)
    def create(self, name: str, priority: int, node: str) -> None:
        """A pod appears; one of the same name is gone, and we were not told."""
        pod = self.make(name, priority, node)
        if (old := self.existing.get(pod.key)) is not None:
            self.nominated.pop(old.uid, None)
            self.queue.update(old, pod)
        else:
            self.queue.add(pod)
        self.existing[pod.key] = pod
        self.nomination(pod, node)
        self.enter(Expected(pod, self.now), "active")

    @rule(name=NAMES, priority=st.integers(0, 3), node=NODES)
    def change(self, name: str, priority: int, node: str) -> None:
        """A pod changes, in a way that no plugin waits for."""
        key = f"default/{name}"
        if (old := self.existing.get(key)) is None:
            return
        new = self.existing[key] = self.make(name, priority, node, old.uid)
        if new.uid in self.binding:  # the queue is not told, the pod has its place
            return
        self.queue.update(old, new)
        if old.uid in self.flying:
            return
        self.waiting[key].pod = new
        if old.nominated_node or node:
            self.nomination(new, node)

    @rule(name=NAMES)
    def delete(self, name: str) -> None:
        pod = self.existing.pop(f"default/{name}", None)
        if pod is not None:
            self.queue.delete(pod)
            self.waiting.pop(pod.key, None)
            self.nominated.pop(pod.uid, None)

    @rule(event=HAPPENINGS, number=st.integers(-1, 3))
    def event(self, event: str, number: int) -> None:
        self.queue.move_all(EVENTS[event], None, number)
        if event != "Nobodys":
            self.happen(event, number, self.parked())

    @rule(number=st.integers(0, 3), limit=st.integers(0, 3))
    def event_for_the_unimportant(self, number: int, limit: int) -> None:
        self.queue.move_all(EVENTS["PodDelete"], None, number, precheck=lambda pod: pod.priority <= limit)
        self.happen("PodDelete", number, [pod for pod in self.parked() if pod.pod.priority <= limit])

    @rule(name=NAMES)
    def shut_or_open_the_gate(self, name: str) -> None:
        shut_out.symmetric_difference_update({name})
        if name not in shut_out and (pod := self.waiting.get(f"default/{name}")):
            self.queue.gate_opens(pod.pod)

    # -------------------------------------------------------------------------------------------- the scheduler

    @rule()
    def pop(self) -> None:
        active = [pod for pod in self.waiting.values() if pod.place == "active"]
        early = [pod for pod in self.waiting.values() if pod.place == "backoff" and not pod.failed]
        order = sorted(active, key=self.turn) or sorted(early, key=lambda pod: (pod.ends(), self.turn(pod)))
        queued = self.queue.pop()
        if queued is None:
            assert not order
            return
        first, pod = order[0], self.waiting.pop(queued.key)
        assert (self.turn(pod), not active and pod.ends()) == (self.turn(first), not active and first.ends())
        assert not queued.is_gated
        pod.attempts += 1
        pod.place, pod.queued, pod.seen = "in flight", queued, []
        self.flying[queued.pod.uid] = pod

    @staticmethod
    def turn(pod: Expected) -> tuple[int, float]:
        return -pod.pod.priority, pod.since

    @rule(
        meanwhile=st.none() | st.sampled_from(sorted(EVENTS)),
        number=st.integers(-1, 3),
        rejectors=SETS,
        pending=SETS,
        later=LATER,
    )
    def attempt(
        self, meanwhile: str | None, number: int, rejectors: set[str], pending: set[str], later: float | None
    ) -> None:
        """A pod is tried in vain, and perhaps something happens meanwhile; alone, these are too rare together."""
        before = set(self.flying)
        self.pop()
        if meanwhile is not None:
            self.event(meanwhile, number)
        for uid in set(self.flying) - before:
            self.come_back(self.flying.pop(uid), rejectors, pending, later)

    @precondition(lambda self: self.flying)
    @rule(data=st.data(), rejectors=SETS, pending=SETS, later=LATER)
    def fail(self, data: st.DataObject, rejectors: set[str], pending: set[str], later: float | None) -> None:
        self.come_back(self.flying.pop(data.draw(st.sampled_from(sorted(self.flying)))), rejectors, pending, later)

    def come_back(self, pod: Expected, rejectors: set[str], pending: set[str], later: float | None) -> None:
        now = self.existing.get(pod.pod.key)
        if now is None or now.uid != pod.pod.uid:
            self.queue.done(pod.pod.uid)
        else:
            self.take_back(pod, now, rejectors, pending, later)

    @precondition(lambda self: self.flying)
    @rule(data=st.data())
    def done(self, data: st.DataObject) -> None:
        """A pod has its node, and is about to be bound."""
        uid = data.draw(st.sampled_from(sorted(self.flying)))
        self.queue.done(uid)
        self.binding[uid] = self.flying.pop(uid)

    @precondition(lambda self: self.binding)
    @rule(data=st.data(), fails=st.booleans())
    def bind(self, data: st.DataObject, fails: bool) -> None:
        """A pod is bound; or it comes back, and nothing can park it any more."""
        pod = self.binding.pop(data.draw(st.sampled_from(sorted(self.binding))))
        now = self.existing.get(pod.pod.key)
        if now is None or now.uid != pod.pod.uid:
            return
        if fails:
            self.take_back(pod, now, {"Fit"}, set(), None, advice=1)
        else:
            self.queue.delete(now)
            del self.existing[now.key]
            self.nominated.pop(now.uid, None)

    def take_back(
        self,
        pod: Expected,
        now: Pod,
        rejectors: set[str],
        pending: set[str],
        later: float | None,
        advice: int | None = None,
    ) -> None:
        assert pod.queued is not None
        pod.again_at = None if later is None else self.now + later
        self.queue.add_unschedulable(pod.queued, rejectors, pending, pod=now, again_at=pod.again_at)
        pod.pod, pod.rejectors, pod.pending, pod.gated = now, set(rejectors), set(pending), False
        pod.since, pod.flushed = self.now, 0.0
        pod.errors = 0 if rejectors or pending else pod.errors + 1
        pod.rejections += bool(rejectors or pending)
        if advice is None:
            advice = max((pod.advice(*seen) for seen in pod.seen), default=0) if rejectors or pending else 1
        self.requeue(pod, advice)

    @rule(names=st.sets(NAMES, max_size=3))
    def activate(self, names: set[str]) -> None:
        pods = [self.existing[key] for name in sorted(names) if (key := f"default/{name}") in self.existing]
        self.queue.activate(pods)
        for pod in pods:
            waiting = self.waiting.get(pod.key)
            if pod.uid in self.flying:
                # Others see it too, but know that it is not for them.
                self.flying[pod.uid].seen.append(("everybody", 0))
            elif waiting is None:
                assert pod.uid in self.binding
            elif waiting.place == "backoff":
                waiting.place = "active"
            elif waiting.place != "active":
                self.enter(waiting, "active")

    @precondition(lambda self: self.existing)
    @rule(data=st.data(), node=NODES)
    def nominate(self, data: st.DataObject, node: str) -> None:
        pod = self.existing[data.draw(st.sampled_from(sorted(self.existing)))]
        self.queue.nominator.add(pod, node)
        self.nomination(pod, node)

    @rule()
    def reconfigure(self) -> None:
        self.queue.reconfigure(by_priority, lambda pod: [Gate()], {SCHEDULER: [*registered()]})
        for pod in list(self.waiting.values()):
            if pod.place in ("active", "backoff"):
                self.enter(pod, pod.place)
        self.happen("everybody", 0, self.parked())

    # -------------------------------------------------------------------------------------------------- time

    @rule(seconds=SECONDS, flush=st.booleans(), ring=st.booleans(), sweep=st.booleans())
    def time_passes(self, seconds: float, flush: bool, ring: bool, sweep: bool) -> None:
        self.now += seconds
        if flush:
            self.flush_backoff()
        if ring:
            self.flush_alarms()
        if sweep:
            self.flush_unschedulable()

    def flush_alarms(self) -> None:
        self.queue.flush_alarms()
        for pod in self.waiting.values():
            if pod.place == "unschedulable" and pod.again_at is not None and pod.again_at <= self.now:
                self.requeue(pod, 1)

    def flush_backoff(self) -> None:
        self.queue.flush_backoff()
        for pod in self.waiting.values():
            if pod.place == "backoff" and pod.ends() < floor(self.now):
                pod.place = "active"

    def flush_unschedulable(self) -> None:
        self.queue.flush_unschedulable()
        overdue = [pod for pod in self.parked() if self.now - max(pod.since, pod.flushed) > 300]
        for pod in overdue:
            pod.flushed = self.now
        if overdue:
            self.happen("everybody", 0, overdue)

    # ------------------------------------------------------------------------------------------------ always true

    @invariant()
    def no_pod_is_lost_and_all_are_where_they_should_be(self) -> None:
        found = {queued.key: queued.place.name for queued in self.queue if queued.place is not None}
        assert found == {key: pod.place for key, pod in self.waiting.items()}
        for pod in self.existing.values():
            assert pod.key in found or pod.uid in self.flying or pod.uid in self.binding

    @invariant()
    def no_pod_is_in_two_places(self) -> None:
        queue = self.queue
        places = (queue._active, queue._backoff, queue._unschedulable, queue._gated)
        kept = [queued.key for place in places for queued in place]
        assert len(kept) == len(set(kept)) == len(queue) == sum(queue.pending())
        assert not {queued.pod.uid for queued in queue} & set(self.flying)

    @invariant()
    def exactly_the_pods_that_were_taken_are_in_flight(self) -> None:
        assert self.queue.in_flight_counts()["PodPopped"] == len(self.flying)
        assert all(self.queue.is_in_flight(uid) for uid in self.flying)
        if not self.flying:
            assert sum(self.queue.in_flight_counts().values()) == 0

    @invariant()
    def what_is_known_about_a_pod_is_right(self) -> None:
        for queued in self.queue:
            pod = self.waiting[queued.key]
            assert queued.pod is pod.pod
            assert queued.is_gated == pod.gated
            assert (queued.unschedulable_plugins, queued.pending_plugins) == (pod.rejectors, pod.pending)
            assert (queued.timestamp, queued.attempts) == (pod.since, pod.attempts)
            assert (queued.unschedulable_count, queued.consecutive_errors) == (pod.rejections, pod.errors)

    @invariant()
    def nominations_are_kept(self) -> None:
        nominator = self.queue.nominator
        assert set(nominator.nodes) == set(self.nominated.values())
        found = {pod.uid: node for node in nominator.nodes for pod in nominator.pods_for_node(node)}
        assert found == self.nominated
        for node in nominator.nodes:
            for pod in nominator.pods_for_node(node):
                queued = self.queue.find(pod.key)
                assert pod is queued.pod if queued is not None and queued.pod.uid == pod.uid else pod.priority == 0

    @invariant()
    def whoever_asks_hears_of_every_node_that_is_nominated_to_others_now(self) -> None:
        nominator = self.queue.nominator
        now = {node: nominator.pods_for_node(node) for node in nominator.nodes}
        differing = {
            node for node in self.last_nominations.keys() | now if self.last_nominations.get(node) != now.get(node)
        }
        changed = nominator.changed_since(self.last_version)
        assert changed is not None
        assert differing <= changed
        self.last_nominations, self.last_version = now, nominator.version

    @invariant()
    def nobody_is_forgotten_by_the_clock(self) -> None:
        wake_up = self.queue.next_wake_up()
        backoff = [pod.ends() + 1 for pod in self.waiting.values() if pod.place == "backoff"]
        assert wake_up is not None or not (backoff or self.parked())
        alarms = [pod.again_at for pod in self.waiting.values() if pod.place == "unschedulable" and pod.again_at]
        if wake_up is not None and (backoff or alarms):
            assert wake_up <= min(backoff + alarms)


class TellingGateMachine(QueueMachine):
    """The same, with a gate that nobody asks at every event."""

    gate_tells = True


TestQueueWithGateThatTells = TellingGateMachine.TestCase
TestQueueWithGateThatTells.settings = examples(100, stateful_step_count=50)
TestQueue = QueueMachine.TestCase
TestQueue.settings = examples(300, stateful_step_count=50)
