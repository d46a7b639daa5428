"""One decision about a gang: all of its pods get nodes in memory, or none does.

popped pod ── objection? ──> only this pod is requeued, with the reason
     │
     └── take its waiting siblings ── too few resources in the cluster? ──> all are requeued, with the reason
                    │
                    ├── place one after the other, the largest first ── enough ──> all of them are bound
                    │                                                └── not enough: release all reservations
                    └── again, as a dry run with preemption ── enough ──> evict, and wait
                                                            └── not enough ──> no pod is evicted

It runs in steps, so that other pods and tasks can run between them (`gang_turns`). Changes meanwhile are respected:
deleted pods are left out, and a pod whose node no longer fits is placed again.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import replace

from pilotage.cache.cluster_cache import ClusterCache
from pilotage.framework.api.gangs import FormsGangs
from pilotage.framework.api.verdicts import FollowUp, Rejection
from pilotage.model.gangs import GangName, gang_of
from pilotage.model.pod import Pod
from pilotage.queue.queued_pod import QueuedPod
from pilotage.queue.scheduling_queue import SchedulingQueue
from pilotage.scheduling.cost import RestingGangs
from pilotage.scheduling.cycle import Scheduler
from pilotage.scheduling.demand import Demand
from pilotage.scheduling.engine import Engine
from pilotage.scheduling.gangs.dry_run import DryRun
from pilotage.scheduling.gangs.gang_outcomes import (
    Decision,
    Gang,
    gang_message,
    named,
    objection_outcome,
    permitted,
    same_outcome,
    waiting_for_room,
)
from pilotage.scheduling.gangs.gang_places import PLACES_TAKEN, Gap, Placing
from pilotage.scheduling.gangs.group_reports import GroupReports
from pilotage.scheduling.outcome import SCHEDULER_ERROR, UNSCHEDULABLE, Outcome, Unplaced
from pilotage.scheduling.outside import SILENT, GroupStatuses

Steps = Generator[Gap, None, list[Decision]]


class GangScheduler:
    """Places gangs; other pods go through the normal cycle."""

    def __init__(
        self,
        cache: ClusterCache,
        queue: SchedulingQueue,
        engines: Mapping[str, Engine],
        scheduler: Scheduler,
        groups: GroupStatuses = SILENT,
        is_waiting: Callable[[Pod], bool] = lambda _: True,
    ) -> None:
        self._cache = cache
        self._queue = queue
        self._engines = engines
        self._scheduler = scheduler
        self._reports = GroupReports(groups)
        self._demand = Demand(engines)
        self._resting = RestingGangs()
        self._is_waiting = is_waiting  # whether a pod still needs a node, checked at its turn

    def decided_alone(self, pod: Pod, outcome: Outcome) -> None:
        """Record the outcome of a pod that was scheduled alone, in case it belongs to a group."""
        name, plugin = gang_of(pod), self._engines[pod.scheduler_name].gangs
        if name is not None and plugin is not None:
            self._reports.decided_alone(name, plugin, pod, outcome)

    def slow_down(self, pod: Pod, seconds: float) -> None:
        """Delay the next attempt of a gang after an expensive one, including pods that arrive meanwhile."""
        if (name := gang_of(pod)) is not None:
            self._resting.add(name, seconds)

    def schedule(self, first: QueuedPod) -> list[Decision] | None:
        """Schedule the gang of a popped pod, with all waiting siblings; None if it has no gang."""
        steps = self.steps(first)
        if steps is None:
            return None
        while True:
            try:
                next(steps)
            except StopIteration as end:
                decided: list[Decision] = end.value
                return decided

    def steps(self, first: QueuedPod) -> Steps | None:
        """Do the same step by step; closing the generator early undoes everything."""
        name, plugin = gang_of(first.pod), self._engines[first.pod.scheduler_name].gangs
        missing = plugin.missing(name, first.pod) if name is not None and plugin is not None else None
        if name is None or plugin is None or missing is None or missing <= 0:
            return None
        return self._steps(name, plugin, first, missing)

    def _steps(self, name: GangName, plugin: FormsGangs, first: QueuedPod, missing: int) -> Steps:
        if (resting := self._resting.outcome(name)) is not None:
            return [(first, resting)]
        objection = self._objection(name, plugin, first.pod)
        if objection is not None:  # its siblings get the same outcome when they are popped, and stay in the queue
            return [(first, objection_outcome(plugin, objection))]
        members = [first, *self._siblings(name, first.pod.scheduler_name)]
        sizes = {}
        for member in members:
            sizes[member.key] = _size(member)
            yield Gap.DECIDE
        # The largest pods go first, since smaller ones fit around them.
        members.sort(key=lambda member: sizes[member.key], reverse=True)
        decided = yield from self._decide(Gang(name, plugin, members, missing))
        self._reports.decided(name, (outcome for _, outcome in decided))
        return decided

    def _siblings(self, name: GangName, scheduler: str) -> Iterator[QueuedPod]:
        for sibling in self._queue.pop_gang(name, scheduler):
            if self._cache.is_assumed(sibling.pod.uid):
                self._queue.done(sibling.pod.uid)  # it is bound, and the watch event is late
            else:
                yield sibling

    def _objection(self, name: GangName, plugin: FormsGangs, pod: Pod) -> Rejection | None:
        siblings = self._queue.gang(name, pod.scheduler_name)
        gated = sum(sibling.is_gated for sibling in siblings)
        return plugin.objection(name, pod, 1 + len(siblings) - gated, gated)

    def _decide(self, gang: Gang) -> Steps:
        """Place all members or requeue all."""
        shortage = gang.plugin.shortage(gang.name, gang.members[0].pod)
        if shortage is not None:
            return same_outcome(gang.members, objection_outcome(gang.plugin, shortage))
        known = gang.plugin.known_rejection(gang.name, gang.pods)
        if known is not None:
            name = frozenset({gang.plugin.name})
            unplaced = Unplaced(known, rejected_by=name, pending=name, nominate=None, is_news=False)
            return same_outcome(gang.members, self._demand.judged(unplaced, *gang.least))
        placing = Placing(gang, self._cache, self._queue, self._scheduler, self._is_waiting)
        try:
            yield from placing.place()
            if placing.count() >= gang.needed:
                gang.plugin.placed_together(gang.name)
                return (yield from _permitted(gang, placing.settled()))
            return (yield from self._preempt(gang, placing))
        finally:
            for _ in placing.unreserve():
                pass

    def _preempt(self, gang: Gang, placing: Placing) -> Steps:
        """Evict other pods if the whole gang fits then; returns in any case why it waits."""
        found = next(((m, o) for m, o in placing.tried if isinstance(o, Unplaced)), None)
        fit = placing.count()
        if found is None:
            return (yield from self._too_few(gang, placing))
        blocker, why = found
        named_pod = named(gang, blocker.pod)
        needed = f"the {gang.needed} pods that are needed at once"
        message = gang_message(gang, named_pod, f"{needed} do not all fit", why.message)
        count = gang_message(gang, named_pod, f"{fit} of {needed} fit", why.message)
        engine = self._engines[blocker.pod.scheduler_name]
        planned: Mapping[str, Unplaced] = {}
        nominate: str | None = ""
        follow_ups: tuple[FollowUp, ...] = ()
        if why.reason != SCHEDULER_ERROR and engine.runner.plugin_set.post_filter:
            planned, nominate, follow_ups = yield from self._plan_evictions(gang, placing)
        yield from placing.unreserve()
        members = placing.still_there()
        if why.reason == SCHEDULER_ERROR:
            return same_outcome(members, replace(why, message=message, note=count, gang_fits=fit), named_pod)
        if any(plan.victims for plan in planned.values()):
            return [(member, waiting_for_room(gang, planned.get(member.pod.uid))) for member in members]
        name, rejected_by = gang.plugin.name, why.rejected_by | {gang.plugin.name}
        outcome = Unplaced(message, why.reason, rejected_by, why.pending, nominate, note=count, gang_fits=fit)
        outcome = self._demand.judged(outcome, *gang.least)
        # Freed resources do not show when a quota will admit the gang.
        if outcome.reason == UNSCHEDULABLE and gang.plugin.gang_rejected(gang.name, gang.pods, message):
            outcome = replace(outcome, pending=outcome.pending | {name})
        return same_outcome(members, replace(outcome, follow_ups=follow_ups), named_pod)

    def _too_few(self, gang: Gang, placing: Placing) -> Steps:
        """Requeue all, because too few members are left after deletions."""
        yield from placing.unreserve()
        members = placing.still_there()
        if not members:
            return []
        objection = gang.plugin.objection(gang.name, members[0].pod, len(members), 0)
        return same_outcome(members, PLACES_TAKEN if objection is None else objection_outcome(gang.plugin, objection))

    def _plan_evictions(
        self, gang: Gang, placing: Placing
    ) -> Generator[Gap, None, tuple[Mapping[str, Unplaced], str | None, tuple[FollowUp, ...]]]:
        """Return nodes and victims for enough members, by uid; {} if that is impossible.

        Also returns the nomination to set for the rest (None keeps earlier ones while their victims terminate), and
        what plugins want to free besides.
        """
        yield from placing.keep_the_first()
        held = placing.hand_over()
        placed = {outcome.pod.uid for outcome in held}
        dry_run = DryRun(self._cache, self._scheduler, held)
        try:
            members = [member for member in gang.members if member.pod.uid not in placed]
            for left, member in zip(range(len(members), 0, -1), members, strict=True):
                if len(dry_run) + left < gang.needed or len(dry_run) == gang.needed:
                    break
                if placing.is_there(member):
                    dry_run.place(member.pod)
                yield Gap.LISTEN
            for _ in dry_run.undo():
                yield Gap.LISTEN
            plans = dry_run.plans()
            planned = {each.pod.uid: plans[each.pod.uid] for each in placing.still_there() if each.pod.uid in plans}
            nominate = None if dry_run.victims_leave else ""
            return planned if len(planned) >= gang.needed else {}, nominate, dry_run.follow_ups
        finally:
            for _ in dry_run.undo():
                pass


def _permitted(gang: Gang, decided: Iterable[Decision]) -> Steps:
    found = []
    for member, outcome in decided:
        found.append((member, permitted(gang, outcome)))
        yield Gap.DECIDE
    return found


def _size(member: QueuedPod) -> tuple[int, int, int, float]:
    requests = member.pod.requests
    extended = sum(amount for name, amount in requests.items() if "/" in name)
    return extended, requests.get("cpu", 0), requests.get("memory", 0), -member.timestamp
