"""The race guard, for nodes shared with other schedulers: reacts to kubelets' rejections, and reports them.

            a pod of ours is rejected               the hold expires, or a pod of ours starts there
node ──────────────────────────────────────> held ──────────────────────────────────────────────────> node
                                             │  ^
                                             └──┘ rejected again: twice as long

While a node is held: no pod goes there for 2 s; usage that only the kubelet sees counts as used; twins of the rejected
pod are kept off for a minute. If the kubelet gave no numbers, the pod itself may be the cause: then only pods of that
shape are kept off, so that a tenant whose pods are always rejected cannot keep other pods off its nodes. A rejection
affects only its own node. And for ten minutes, the resources of a pod that leaves any node still count as used for a
moment, because its kubelet may still count it.
"""

import logging
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from pilotage.cache.cluster_cache import ClusterCache
from pilotage.cache.node_holds import EVERYBODY, Hold, Twins, twins_of
from pilotage.framework.api.events import POD_GONE
from pilotage.framework.api.nodes import NodeInfo
from pilotage.model.kubelet_rejection import MIRROR, PODS, KubeletRejection
from pilotage.model.moments import seconds_of
from pilotage.model.pod import Pod
from pilotage.model.selectors import LabelMatcher
from pilotage.queue.scheduling_queue import SchedulingQueue
from pilotage.scheduling.engine import Engine
from pilotage.scheduling.outside import Recorder
from pilotage.scheduling.sharing.contention import Contention
from pilotage.scheduling.sharing.foreign_binds import ForeignBinds
from pilotage.scheduling.sharing.held_nodes import hold_end
from pilotage.scheduling.sharing.rejection_messages import KubeletReport, event_note, free_by_cache

log = logging.getLogger(__name__)

REST = 2.0  # seconds in which no pod goes to a node: its kubelet counts a rejected pod for a moment longer
FIRST_HOLD, LONGEST_HOLD = 10.0, 300.0  # seconds
TWINS_STAY_AWAY = 60.0  # seconds
RACING_FOR = 600.0  # seconds after a rejection in which pods are spread over nearly equal nodes
SWEEP_EVERY = 60.0  # seconds

LINGERS = 0.5  # seconds for which a kubelet may still count a deleted pod

BELIEF: Final = "belief"  # a hold that excludes no pods: its end drops the usage that only the kubelet sees


class Lingering(NamedTuple):
    """The same for a deleted pod that its kubelet may still count."""

    uid: str


class NodeRecord:
    """The rejections of one node's kubelet."""

    __slots__ = ("last", "raced", "reason", "rejections", "sent_before", "strikes")

    def __init__(self) -> None:
        self.rejections = self.strikes = 0
        self.last = 0.0
        self.raced: float | None = None  # the time of the last race
        self.reason = ""
        self.sent_before: frozenset[str] = frozenset()  # uids of the pods bound but not started at the last rejection

    def note(self, uid: str, reason: str, now: float) -> None:
        """Count a rejection; if the pod was bound before the previous one, it is no new strike."""
        self.strikes += not (self.strikes and uid in self.sent_before)
        self.rejections += 1
        self.last, self.reason = now, reason

    @property
    def hold(self) -> float:
        """Return how many seconds the node is held."""
        return min(FIRST_HOLD * 2.0 ** min(self.strikes - 1, 10), LONGEST_HOLD)


class RaceGuard:
    """Observes rejections and foreign binds, and keeps pods off nodes that reject them."""

    def __init__(
        self,
        cache: ClusterCache,
        queue: SchedulingQueue,
        engines: Mapping[str, Engine],
        recorder: Recorder,
        clock: Callable[[], float],
    ) -> None:
        self._cache = cache
        self._queue = queue
        self._engines = engines
        self._recorder = recorder
        self._clock = clock
        self._next_sweep = clock() + SWEEP_EVERY
        self._last_race: float | None = None
        self.records: dict[str, NodeRecord] = {}  # by node
        self.foreign = ForeignBinds()
        self.contention: dict[str, Contention] = {}  # by scheduler name
        self.rejections: Counter[str] = Counter()  # by reason, one of a few

    # -------------------------------------------------------------------------------------------------------- see

    def foreign_bind(self, pod: Pod) -> None:
        """Record that another scheduler has bound a pod."""
        if MIRROR not in pod.annotations:
            self.foreign.note(pod.node_name, pod.scheduler_name, self._clock())

    def bound(self, pod: Pod) -> None:
        """Record a bind of ours."""
        try:
            self.contention[pod.scheduler_name].binds += 1
        except KeyError:
            self.contention[pod.scheduler_name] = found = Contention()
            found.binds += 1

    def started(self, pod: Pod) -> None:
        """Record that a kubelet has started a pod of ours, so that its earlier rejections are out of date."""
        record = self.records.get(pod.node_name)
        if record is None or not record.strikes or pod.uid in record.sent_before:
            return
        record.strikes = 0
        rest = Hold(pod.node_name, EVERYBODY)
        ended = [hold for hold in self._cache.holds.on(pod.node_name) if not _stays(hold)]
        for hold in ended:
            self._cache.holds.lift(hold)
        if (self._cache.holds.until(rest) or 0.0) > record.last + REST:
            self._cache.holds.keep_off(rest, record.last + REST)
        self._lift(ended)

    def left(self, pod: Pod) -> None:
        """Record that a pod left its node: while races occur, its resources count as used a little longer."""
        info = None if self._last_race is None else self._cache.find_node(pod.node_name)
        if info is not None:
            self._linger(pod, info)

    def _linger(self, pod: Pod, info: NodeInfo) -> None:
        lingering = Lingering(pod.uid)
        if self._cache.holds.keep_off(Hold(info.name, lingering), self._clock() + LINGERS):
            known, most = self._cache.believed(info.name), info.allocatable  # usage never exceeds allocatable
            amounts = {name: min(amount, most.get(name, 0) - known.get(name, 0)) for name, amount in pod.usage.items()}
            self._cache.believe(info.name, lingering, amounts)

    def rejected(self, pod: Pod, rejection: KubeletRejection) -> None:
        """Record that a kubelet rejected a pod of ours, which has already left the cache."""
        self.rejections[rejection.label] += 1
        engine, info = self._engines.get(pod.scheduler_name), self._cache.find_node(pod.node_name)
        if engine is None or info is None:
            return
        report = self._report(pod, rejection, info)
        if not report.is_old:
            self.contention.setdefault(pod.scheduler_name, Contention()).rejections += 1
        if engine.guard:
            record = self._hold(report, info)
            if not report.is_old:
                self._last_race = record.raced = report.now
            self._recorder.record(
                pod,
                "Warning",
                "RejectedByKubelet",
                "Binding",
                event_note(report),
                controller=pod.scheduler_name,
                once=True,
            )

    def _report(self, pod: Pod, rejection: KubeletRejection, info: NodeInfo) -> KubeletReport:
        now, scheduled = self._clock(), pod.status.condition("PodScheduled")
        bound_at = seconds_of(scheduled.last_transition_time) if scheduled and scheduled.status == "True" else None
        free = free_by_cache(info, self._cache.believed(info.name), rejection.resource)
        age = None if bound_at is None else max(0.0, now - bound_at)
        return KubeletReport(pod, info.name, rejection, free, age, self.foreign.at(info.name), now)

    # ---------------------------------------------------------------------------------------------------- believe

    def _hold(self, report: KubeletReport, info: NodeInfo) -> NodeRecord:
        """Keep pods off the node, each kind for its own time."""
        record = self.records.setdefault(info.name, NodeRecord())
        record.note(report.pod.uid, report.rejection.label, report.now)
        record.sent_before = self._on_their_way(info)
        holds, node, end = self._cache.holds, info.name, report.now + record.hold
        whom = self._believe(report, info, end)
        if whom is not None:
            holds.keep_off(Hold(node, whom), end)
        twins = twins_of(report.pod)
        if twins is not None:
            holds.keep_off(Hold(node, twins), report.now + TWINS_STAY_AWAY)
        if report.rejection.resource:
            everybody = Hold(node, EVERYBODY)
            holds.keep_off(everybody, max(report.now + REST, holds.until(everybody) or 0.0))
        elif holds.until(Hold(node, Lingering(report.pod.uid))) is None:
            self._linger(report.pod, info)  # the first race: `left` did not run `_linger`
        return record

    def _believe(self, report: KubeletReport, info: NodeInfo, end: float) -> object | None:
        """Count usage that only the kubelet sees; without numbers, return which pods to keep off instead."""
        resource, used = report.rejection.resource, report.rejection.used
        if not resource or used is None:
            return report.pod.shape
        if resource == PODS:
            return EVERYBODY if used > len(info.pods) else None
        self._end_lingering(info.name)  # the kubelet's numbers include it
        amounts = dict(self._cache.believed(info.name))
        seen = info.requested.get(resource, 0) - amounts.get(resource, 0)
        amounts[resource] = min(used, info.allocatable.get(resource, 0)) - seen
        if amounts[resource] > 0 and not self._cache.holds.keep_off(Hold(info.name, BELIEF), end):
            return None  # without a hold, nothing would end this usage
        self._cache.believe(info.name, BELIEF, amounts)
        return None

    def _end_lingering(self, node: str) -> None:
        for hold in self._cache.holds.on(node):
            if isinstance(hold.whom, Lingering):
                self._cache.holds.lift(hold)
                self._cache.believe(node, hold.whom, {})

    def _on_their_way(self, info: NodeInfo) -> frozenset[str]:
        """Return our pods that the node has not started yet."""
        ours = self._engines
        unstarted = (pod for pod in info.pods.values() if not pod.status.start_time and pod.scheduler_name in ours)
        return frozenset(pod.uid for pod in unstarted)

    # ----------------------------------------------------------------------------------------------------- spread

    def spread(self, engine: Engine) -> int:
        """Return how many percent below the best score a chosen node may be; 0 without races."""
        if self._last_race is None or not engine.guard:
            return 0
        now = self._clock()
        if now - self._last_race > RACING_FOR:
            self._last_race = None
            return 0
        return engine.spread if engine.remit.labels is None or self._races_among(engine.remit.labels, now) else 0

    def _races_among(self, own: LabelMatcher, now: float) -> bool:
        """Return whether a race occurred on any of a profile's own nodes."""
        raced = [node for node, each in self.records.items() if each.raced and now - each.raced <= RACING_FOR]
        infos = map(self._cache.find_node, raced)
        return any(info is not None and own.matches(info.labels) for info in infos)

    # ------------------------------------------------------------------------------------------------------- time

    def next_end(self) -> float | None:
        """Return when `tick` is due; None if no node is held."""
        return self._cache.holds.next_end()

    def tick(self) -> None:
        """End the holds that have expired; cheap if none has."""
        now = self._clock()
        if self._cache.holds.active:
            self._lift(self._cache.holds.expire(now))
        if now >= self._next_sweep:
            self._next_sweep = now + SWEEP_EVERY
            if self._last_race is not None and now - self._last_race > RACING_FOR:
                self._last_race = None  # even if `spread` is not called
            self.contention = {name: each for name, each in self.contention.items() if name in self._engines}
            for each in self.contention.values():
                each.turn(now)
            self.foreign.forget_old(now)
            self.records = {node: each for node, each in self.records.items() if now - each.last <= RACING_FOR}

    def _lift(self, ended: list[Hold]) -> None:
        """Drop the assumed usage, and wake the pods that wait for these nodes."""
        for hold in ended:
            if hold.whom == BELIEF or isinstance(hold.whom, Lingering):
                self._cache.believe(hold.node, hold.whom, {})
        for node in dict.fromkeys(hold.node for hold in ended):
            self._queue.move_all(POD_GONE, hold_end(node), None)


def _stays(hold: Hold) -> bool:
    """Return whether a hold continues after a pod of ours has started."""
    return hold.whom is EVERYBODY or isinstance(hold.whom, Twins | Lingering)
