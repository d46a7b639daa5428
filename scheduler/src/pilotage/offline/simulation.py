"""The engine on a cluster that exists in memory only: every pending pod is scheduled, and victims are gone at once."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from random import Random

from pilotage.cache.cluster_cache import ClusterCache
from pilotage.framework.api.events import POD_GONE, POD_PLACED
from pilotage.framework.api.nodes import Nodes
from pilotage.kinds.kube_object import KubeObject
from pilotage.model.gangs import gang_of
from pilotage.model.node import Node
from pilotage.model.pod import Pod
from pilotage.queue.queued_pod import QueuedPod
from pilotage.queue.scheduling_queue import SchedulingQueue
from pilotage.scheduling.attempt import Attempt
from pilotage.scheduling.cycle import Scheduler
from pilotage.scheduling.engine import Engine
from pilotage.scheduling.explanation import Explanation, PluginScore, explain, scores_at
from pilotage.scheduling.gangs.gang_cycle import GangScheduler
from pilotage.scheduling.gangs.gang_standing import standing
from pilotage.scheduling.outcome import Placed, Unplaced

Progress = Callable[[int, int], None]  # pods that are decided, pods in all


@dataclass(frozen=True)
class Result:
    """What became of one pod."""

    namespace: str
    name: str
    scheduler_name: str
    node: str | None = None
    message: str = ""
    reason: str = ""  # of the pod's condition, while it waits
    nominated_node: str = ""
    victims: tuple[str, ...] = ()
    scores: Mapping[str, PluginScore] = field(default_factory=dict)  # of the node, by plugin


class Clock:
    """Time that passes only when there is nothing else to do."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


class Simulation:
    """A cluster, a queue and a scheduler; nothing outside of them is touched."""

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
    ) -> None:
        self._cache = cache
        self._engines = engines
        self._queue = queue
        on_choice = self.keep_scores if with_scores else None
        self._scheduler = Scheduler(cache, engines, queue.nominator, tie_break, on_choice)
        self._gangs = GangScheduler(cache, queue, engines, self._scheduler)
        self._clock = clock
        self._scores: dict[str, dict[str, PluginScore]] = {}  # of the nodes that were chosen last, by pod
        self._explain_pod = explain_pod
        self._results: dict[str, Result] = {}  # by pod, in the order in which they were first decided
        self.unserved: list[Pod] = []  # pending pods that no profile serves
        self.explanation: Explanation | None = None

    def add(self, found: Pod | Node | KubeObject) -> None:
        """Take in an object: a pod without a node is pending."""
        if isinstance(found, Node):
            self._cache.put_node(found)
        elif not isinstance(found, Pod):
            self._cache.objects.put(found)
        elif found.node_name:
            self._cache.put_pod(found)
        elif found.scheduler_name not in self._engines:
            self.unserved.append(found)
        else:
            self._clock.now += 1e-6  # so that pods of one priority keep their order
            self._queue.add(found)

    def note_trouble(self, kind: type[KubeObject], name: str, namespace: str, reason: str) -> None:
        """Take note of an object that is there and cannot be understood."""
        self._cache.objects.note_trouble(kind, name, namespace, reason)

    def run(self, progress: Progress | None = None) -> list[Result]:
        """Schedule until nothing that is left can change, and tell what became of every pending pod."""
        total = len(self._queue)
        while (queued := self._next()) is not None:
            self._decide(queued)
            if progress is not None:
                progress(len(self._results), total)
        for queued in self._queue:
            if queued.is_gated:
                self._tell(queued.pod, message=queued.gating_reason)
        return list(self._results.values())

    def decide_only(self, key: str) -> Result:
        """Tell what would become of one pending pod now, out of turn; the others keep what is nominated for them."""
        queued = self._queue.find(key)
        assert queued is not None, f"{key} is not pending"
        if queued.is_gated:
            self._tell(queued.pod, message=queued.gating_reason)
        else:
            self._queue.take(queued)
            self._decide(queued)
        return self._results[key]

    def _next(self) -> QueuedPod | None:
        """Take the next pod; if all are in back-off, time passes."""
        queued = self._queue.pop()
        while queued is None and self._queue.pending().backoff:
            self._clock.now = max(self._clock.now + 1, self._queue.next_wake_up() or 0)
            self._queue.flush_backoff()
            queued = self._queue.pop()
        return queued

    def _decide(self, queued: QueuedPod) -> None:
        pod, engine = queued.pod, self._engines[queued.pod.scheduler_name]
        asked = self._asked(pod)
        if asked is not None:
            self.explanation = explain(self._cache, engine, self._queue.nominator, asked)
        gang = standing(self._queue, engine, pod) if asked is not None else None
        self._scores = {}
        decided = self._gangs.schedule(queued) or [(queued, self._scheduler.schedule(pod))]
        if asked is not None and gang is not None and self.explanation is not None:
            self.explanation = replace(self.explanation, gang=gang.after(asked, decided))
        for member, outcome in decided:
            if isinstance(outcome, Placed):
                self._place(outcome)
            else:
                self._send_back(member, outcome)

    def _asked(self, pod: Pod) -> Pod | None:
        """Return the pod to explain, if it is this one or waits for its turn together with it."""
        if self._explain_pod is None:
            return None
        name = gang_of(pod)
        siblings = [] if name is None else self._queue.gang(name, pod.scheduler_name)
        turn = (pod, *(sibling.pod for sibling in siblings if not sibling.is_gated))
        return next((each for each in turn if self._explain_pod in (each.key, each.name)), None)

    def keep_scores(self, attempt: Attempt, nodes: Nodes, slot: int) -> None:
        """Keep the scores of the node that is chosen, for its pod's result."""
        self._scores[attempt.cycle.pod.uid] = scores_at(attempt, nodes, slot)

    def _place(self, outcome: Placed) -> None:
        pod = outcome.pod
        self._queue.done(pod.uid)
        self._queue.nominator.delete(pod)
        self._cache.put_pod(pod)
        self._queue.move_all(POD_PLACED, None, pod)
        self._tell(
            pod, node=pod.node_name, message="", reason="", nominated_node="", scores=self._scores.get(pod.uid, {})
        )

    def _send_back(self, queued: QueuedPod, outcome: Unplaced) -> None:
        pod, nomination = queued.pod, outcome.nominate
        if nomination is not None:
            pod = pod.with_nominated_node(nomination)
            self._queue.nominator.add(pod, nomination)
        facts = {"message": outcome.message, "reason": outcome.reason, "nominated_node": pod.nominated_node}
        self._tell(pod, **facts, victims=outcome.victims)
        if outcome.rejected_by or outcome.pending:
            self._queue.add_unschedulable(queued, outcome.rejected_by, outcome.pending, pod=pod)
        else:
            self._queue.done(pod.uid)  # an error: here it would be the same each time
        self._evict(pod, outcome)

    def _evict(self, preemptor: Pod, outcome: Unplaced) -> None:
        infos = [self._cache.find_node(node) for node in (outcome.nominate or "", *outcome.other_nodes)]
        by_key = {pod.key: pod for info in infos if info is not None for pod in info.pods.values()}
        for key in outcome.victims:
            victim = by_key.get(key)
            if victim is None:
                continue
            self._cache.remove_pod(victim.uid)
            self._queue.move_all(POD_GONE, victim, None)
            if key in self._results:
                text = f"Preempted by pod {preemptor.uid} on node {outcome.nominate}"
                self._results[key] = replace(self._results[key], node=None, message=text, scores={})

    def _tell(self, pod: Pod, **facts: object) -> None:
        known = self._results.get(pod.key) or Result(pod.namespace, pod.name, pod.scheduler_name)
        kept = {key: value for key, value in facts.items() if key != "victims" or value}  # victims of an earlier try
        self._results[pod.key] = replace(known, **kept)  # type: ignore[arg-type]  # fields by name
