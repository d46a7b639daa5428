"""Simulates the scheduling of all pending pods on a cluster in memory, where victims disappear immediately."""

from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import replace
from random import Random

from pilotage.cache.cluster_cache import ClusterCache
from pilotage.framework.api.nodes import Nodes
from pilotage.framework.api.plugin import ConcludesInMemory
from pilotage.framework.api.signal import Signal
from pilotage.framework.api.waiting import WaitingPods
from pilotage.kinds.devices import ResourceClaim
from pilotage.kinds.kube_object import KubeObject
from pilotage.model.gangs import gang_of
from pilotage.model.node import Node
from pilotage.model.pod import Pod
from pilotage.offline.claim_controller import free_claims
from pilotage.offline.in_memory import AtOnce, PodsInMemory
from pilotage.offline.results import Result, Results
from pilotage.queue.queued_pod import QueuedPod
from pilotage.queue.scheduling_queue import SchedulingQueue
from pilotage.scheduling.attempt import Attempt
from pilotage.scheduling.cycle import Scheduler
from pilotage.scheduling.demand import Demand
from pilotage.scheduling.engine import Engine
from pilotage.scheduling.eviction import Evictions, holders_of, rules_of
from pilotage.scheduling.explanation import Explanation, PluginScore, explain, scores_at
from pilotage.scheduling.failure import Failures
from pilotage.scheduling.gangs.gang_cycle import GangScheduler
from pilotage.scheduling.gangs.gang_outcomes import Decision
from pilotage.scheduling.gangs.gang_standing import standing
from pilotage.scheduling.intake import NodeIntake, ObjectIntake, PodIntake
from pilotage.scheduling.object_changes import ObjectChanges
from pilotage.scheduling.outcome import SCHEDULER_ERROR, Outcome, Placed, Unplaced
from pilotage.scheduling.remedies import (
    Gate,
    Remedies,
    Siblings,
    WhyNot,
    gate_of,
    search,
    search_at_once,
    siblings_of,
    why_not,
)

Progress = Callable[[int, int], None]  # pods tried, pods in total


class Clock:
    """A clock that advances only when there is nothing else to do."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


class Simulation:
    """A cluster, a queue and a scheduler in memory, without side effects."""

    def __init__(
        self,
        cache: ClusterCache,
        engines: Mapping[str, Engine],
        queue: SchedulingQueue,
        clock: Clock,
        tie_break: Random,
        *,
        with_scores: bool = False,
        explain_pod: str | None = None,
        with_remedies: bool = True,
        changes: ObjectChanges | None = None,
        close: Callable[[], None] = lambda: None,
    ) -> None:
        self.cache = cache
        self.engines = engines
        self.queue = queue
        self.close = close  # disconnects its plugins
        on_choice = self.keep_scores if with_scores else None
        self._scheduler = Scheduler(cache, engines, queue.nominator, tie_break, on_choice)
        self._gangs = GangScheduler(cache, queue, engines, self._scheduler)
        self._clock = clock
        self._scores: dict[str, dict[str, PluginScore]] = {}  # of the last chosen nodes, by pod
        self._explain_pod = explain_pod
        self._with_remedies = with_remedies
        self._results = Results()
        self._pending = PodsInMemory(self._results)
        self._tasks = AtOnce()
        evictions = self._evictions()
        self.pods = PodIntake(cache, queue, WaitingPods(), evictions, engines, wake=lambda: None)
        self.nodes = NodeIntake(cache, queue, wake=lambda: None)
        self.objects = ObjectIntake(cache, queue, lambda: None, changes)
        self._pending.on_gone.connect(self.pods.deleted)
        self._pending.on_gone.connect(self._free_claims)
        self.on_evicted = self._pending.on_gone
        self.on_evicting: Signal[Pod, tuple[str, ...]] = Signal()  # the preemptor and its victims
        self._failures = self._make_failures(evictions)
        self.unserved: list[Pod] = []  # pending pods that no profile serves
        self.explanation: Explanation | None = None
        self.remedies: Remedies | None = None  # for the pod to explain, while it waits

    def _evictions(self) -> Evictions:
        ports = (self._pending, self._pending, self._pending)
        plugins = (holders_of(self.engines), rules_of(self.engines))
        # No pod waits on permit, and no deletion is in progress.
        no_waiting_pods = WaitingPods()
        return Evictions(
            self.cache, self.queue, no_waiting_pods, *ports, *plugins, tasks=self._tasks, leaves=lambda _pod: False
        )

    def _make_failures(self, evictions: Evictions) -> Failures:
        ports = (self._pending.find, self._pending, self._pending)
        # There is no autoscaler, and all reports become results.
        nobody_asks = Demand({})
        return Failures(
            self.queue, *ports, evictions, self.engines, demand=nobody_asks, report=lambda _pod, _outcome: None
        )

    def add(self, found: Pod | Node | KubeObject) -> None:
        """Add an object: a pod without a node is pending."""
        if isinstance(found, Node):
            self.cache.put_node(found)
        elif not isinstance(found, Pod):
            self.cache.objects.put(found)
        elif found.node_name:
            self.cache.put_pod(found)
        elif found.scheduler_name not in self.engines:
            self.unserved.append(found)
        else:
            self._clock.now += 1e-6  # keeps the order of pods of one priority
            self._pending.put(found)
            self.queue.add(found)

    def note_trouble(self, kind: type[KubeObject], name: str, namespace: str, reason: str) -> None:
        """Record an existing object that cannot be decoded."""
        self.cache.objects.note_trouble(kind, name, namespace, reason)

    def run(self, progress: Progress | None = None) -> list[Result]:
        """Schedule until nothing changes any more, and return the results for all pending pods."""
        total = len(self.queue)
        for _ in self.steps():
            if progress is not None:
                progress(len(self._results), total)
        return list(self._results)

    def steps(self) -> Generator[object, None, None]:
        """Do the same step by step, so that other work can run in between; then call `results`."""
        while (queued := self._next()) is not None:
            yield from self._decide(queued)
            yield None
        for queued in self.queue:
            if queued.is_gated:
                self._keep_gated(queued)

    @property
    def results(self) -> Results:
        """Return the results for all pods so far."""
        return self._results

    def decide_only(self, key: str) -> Result:
        """Try one pending pod now, out of turn, and return its result; other pods keep their nominations."""
        queued = self.queue.find(key)
        assert queued is not None, f"{key} is not pending"
        if queued.is_gated:
            self._keep_gated(queued)
        else:
            self.queue.take(queued)
            for _ in self._decide(queued):
                pass
        return self._results[key]

    def _keep_gated(self, queued: QueuedPod) -> None:
        """Record what keeps a pod out of the queue; for the pod to explain, also what would happen without that."""
        pod = queued.pod
        self._results.gated(pod, queued.gating_reason)
        if self._explain_pod not in (pod.key, pod.name):
            return
        engine = self.engines[pod.scheduler_name]
        self.explanation = explain(self.cache, engine, self.queue.nominator, pod)
        if self._with_remedies:
            gang, gate = siblings_of(self.queue, engine, pod), gate_of(queued)
            self.remedies = search_at_once(self.cache, engine, self.queue.nominator, pod, gang, gate)

    def _next(self) -> QueuedPod | None:
        """Take the next pod; if all are in back-off, advance the clock."""
        queued = self.queue.pop()
        while queued is None and self.queue.pending().backoff:
            self._clock.now = max(self._clock.now + 1, self.queue.next_wake_up() or 0)
            self.queue.flush_backoff()
            queued = self.queue.pop()
        return queued

    def _decide(self, queued: QueuedPod) -> Generator[object, None, None]:
        pod, engine = queued.pod, self.engines[queued.pod.scheduler_name]
        asked = self._asked(pod)
        if asked is not None:
            self.explanation = explain(self.cache, engine, self.queue.nominator, asked)
        gang = standing(self.queue, engine, pod) if asked is not None else None
        members = siblings_of(self.queue, engine, asked, pod) if asked is not None else None
        self._scores = {}
        decided = (yield from self._decided_as_gang(queued)) or [(queued, self._scheduler.schedule(pod))]
        if asked is not None and gang is not None and self.explanation is not None:
            self.explanation = replace(self.explanation, gang=gang.after(asked, decided))
        if asked is not None:
            outcome = next((outcome for member, outcome in decided if member.pod.uid == asked.uid), None)
            self.remedies = self._remedies(asked, outcome, members) if self._with_remedies else None
        for member, outcome in decided:
            if isinstance(outcome, Placed):
                self._place(outcome)
            else:
                self._requeue(member, outcome)

    def _decided_as_gang(self, queued: QueuedPod) -> Generator[object, None, list[Decision]]:
        steps = self._gangs.steps(queued)
        return [] if steps is None else (yield from steps)

    def _remedies(self, pod: Pod, outcome: Outcome | None, gang: Siblings | None) -> Remedies | None:
        """Search for remedies for a waiting pod, unless preemption already helps it."""
        if isinstance(outcome, Placed):
            return None
        if gang is not None and any(self.cache.find_pod(member.uid) for member in gang.pods()):
            gang = None  # the gang has started without this pod
        if outcome is not None and (outcome.victims or outcome.reason == SCHEDULER_ERROR):
            return None
        return search_at_once(self.cache, self.engines[pod.scheduler_name], self.queue.nominator, pod, gang)

    def search(
        self, pod: Pod, gang: Siblings | None = None, gate: Gate | None = None
    ) -> Generator[None, None, Remedies]:
        """Search for remedies for a pod, step by step; between two steps, pods of a gang may occupy nodes here."""
        engine = self.engines[pod.scheduler_name]
        return search(self.cache, engine, self.queue.nominator, pod, gang, gate, is_copy=True)

    def why_not(self, pod: Pod, node: str) -> WhyNot:
        """Compare a node with the one that the pod has or would get."""
        return why_not(self.cache, self.engines[pod.scheduler_name], self.queue.nominator, pod, node)

    def _asked(self, pod: Pod) -> Pod | None:
        """Return the pod to explain, if it is this one or of the same gang."""
        if self._explain_pod is None:
            return None
        name = gang_of(pod)
        siblings = [] if name is None else self.queue.gang(name, pod.scheduler_name)
        turn = (pod, *(sibling.pod for sibling in siblings if not sibling.is_gated))
        return next((each for each in turn if self._explain_pod in (each.key, each.name)), None)

    def keep_scores(self, attempt: Attempt, nodes: Nodes, slot: int) -> None:
        """Keep the scores of the chosen node for the pod's result."""
        self._scores[attempt.cycle.pod.uid] = scores_at(attempt, nodes, slot)

    def _place(self, outcome: Placed) -> None:
        pod = outcome.pod
        self.queue.done(pod.uid)
        self.queue.nominator.delete(pod)
        self.pods.added(pod)
        claims = [claim for claim in self._concluded(outcome) if isinstance(claim, ResourceClaim)]
        self._results.placed(pod, self._scores.get(pod.uid, {}), claims)

    def _concluded(self, outcome: Placed) -> Iterator[KubeObject]:
        """Write what the pod's plugins would write before its bind."""
        for plugin in outcome.engine.runner.plugin_set.pre_bind:
            for new in plugin.concluded(outcome.cycle, outcome.pod) if isinstance(plugin, ConcludesInMemory) else ():
                old = self.cache.objects.get(type(new), new.metadata.name, new.metadata.namespace)
                if old is None:
                    self.objects.added(new)
                elif old is not new:
                    self.objects.updated(old, new)
                yield new

    def _free_claims(self, pod: Pod) -> None:
        free_claims(pod, self.cache.objects.all(ResourceClaim, pod.namespace), self.objects)

    def _requeue(self, queued: QueuedPod, outcome: Unplaced) -> None:
        if outcome.victims:
            self._results.evicts(queued.pod, outcome.victims)
            self.on_evicting(queued.pod, outcome.victims)
        self._failures.requeue(queued, replace(outcome, is_news=True))  # the last outcome is the result
        if not outcome.rejected_by and not outcome.pending:
            self.queue.delete(queued.pod)  # an error, which every further attempt would repeat
        self._tasks.finish()
