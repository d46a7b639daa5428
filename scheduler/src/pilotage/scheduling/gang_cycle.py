"""One decision about a gang: all of its pods find their places in memory, or none of them keeps one.

popped pod ── objection? ──> it goes back alone, with the reason
     │
     └── take its waiting siblings ── the cluster lacks something? ──> all go back, with the reason
                    │
                    ├── place one after the other, the largest first ── enough ──> all of them are bound
                    │                                                └── not enough: give all places back
                    └── once more, now at others' expense, and only pretending ── enough ──> evict, and wait
                                                                              └── not enough ──> nobody is evicted
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from pilotage.cache.cluster_cache import ClusterCache
from pilotage.framework.gangs import FormsGangs
from pilotage.framework.verdicts import Rejection
from pilotage.model.gangs import GangName, gang_of
from pilotage.model.pod import Pod
from pilotage.queue.queued_pod import QueuedPod
from pilotage.queue.scheduling_queue import SchedulingQueue
from pilotage.scheduling.cycle import Scheduler
from pilotage.scheduling.engine import Engine
from pilotage.scheduling.group_news import GroupNews
from pilotage.scheduling.outcome import SCHEDULER_ERROR, UNSCHEDULABLE, Outcome, Placed, Unplaced
from pilotage.scheduling.outside import SILENT, GroupStatuses

Decision = tuple[QueuedPod, Outcome]


@dataclass(frozen=True)
class Gang:
    """A gang that is being decided about."""

    name: GangName
    plugin: FormsGangs
    members: Sequence[QueuedPod]
    needed: int  # of the members, at once

    @property
    def pods(self) -> list[Pod]:
        """Return the pods of the members."""
        return [member.pod for member in self.members]


class GangScheduler:
    """Places gangs; whoever belongs to none is left to others."""

    def __init__(
        self,
        cache: ClusterCache,
        queue: SchedulingQueue,
        engines: Mapping[str, Engine],
        scheduler: Scheduler,
        groups: GroupStatuses = SILENT,
    ) -> None:
        self._cache = cache
        self._queue = queue
        self._engines = engines
        self._scheduler = scheduler
        self._news = GroupNews(groups)

    def decided_alone(self, pod: Pod, outcome: Outcome) -> None:
        """Take note of what became of a pod that was placed for itself: it may be of a group all the same."""
        name, plugin = gang_of(pod), self._engines[pod.scheduler_name].gangs
        if name is not None and plugin is not None:
            self._news.decided_alone(name, plugin, pod, outcome)

    def schedule(self, first: QueuedPod) -> list[Decision] | None:
        """Decide about the gang of a pod that was popped, with all siblings that wait; None if it is for itself."""
        name, plugin = gang_of(first.pod), self._engines[first.pod.scheduler_name].gangs
        missing = plugin.missing(name, first.pod) if name is not None and plugin is not None else None
        if name is None or plugin is None or missing is None or missing <= 0:
            return None
        objection = self._objection(name, plugin, first.pod)
        if objection is not None:  # the siblings have been told, each when it was popped, and stay where they are
            return [(first, _objected(plugin, objection))]
        members = [first, *self._siblings(name, first.pod.scheduler_name)]
        # What is hard to place goes first: the others find room around it.
        members.sort(key=_size, reverse=True)
        decided = self._decide(Gang(name, plugin, members, missing))
        self._news.decided(name, (outcome for _, outcome in decided))
        return decided

    def _siblings(self, name: GangName, scheduler: str) -> Iterator[QueuedPod]:
        for sibling in self._queue.pop_gang(name, scheduler):
            if self._cache.is_assumed(sibling.pod.uid):
                self._queue.done(sibling.pod.uid)  # it has its place, and news about it came late
            else:
                yield sibling

    def _objection(self, name: GangName, plugin: FormsGangs, pod: Pod) -> Rejection | None:
        siblings = self._queue.gang(name, pod.scheduler_name)
        gated = sum(sibling.is_gated for sibling in siblings)
        return plugin.objection(name, pod, 1 + len(siblings) - gated, gated)

    def _decide(self, gang: Gang) -> list[Decision]:
        """Place all members or send all back."""
        shortage = gang.plugin.shortage(gang.name, gang.members[0].pod)
        if shortage is not None:
            return self._all_back(gang, _objected(gang.plugin, shortage))
        known = gang.plugin.no_chance(gang.name, gang.pods)
        if known is not None:
            name = frozenset({gang.plugin.name})
            return self._all_back(gang, Unplaced(known, rejected_by=name, pending=name, nominate=None, is_news=False))
        outcomes = self._place(gang)
        if _placed(outcomes) >= gang.needed:
            gang.plugin.placed_together(gang.name)
            return list(zip(gang.members, map(_permitted(gang), outcomes), strict=True))
        for outcome in reversed(outcomes):
            if isinstance(outcome, Placed):
                self._scheduler.take_back(outcome)
        return self._make_room(gang, outcomes)

    def _place(self, gang: Gang) -> list[Outcome]:
        """Place members until it is clear that not enough will find room."""
        outcomes: list[Outcome] = []
        left = len(gang.members)  # that are placed, or may still be
        for member in gang.members:
            if left < gang.needed:
                break
            outcome = self._scheduler.schedule(member.pod, seek_room=False)
            outcomes.append(outcome)
            left -= not isinstance(outcome, Placed)
        return outcomes

    def _make_room(self, gang: Gang, outcomes: Sequence[Outcome]) -> list[Decision]:
        """Evict others if the whole gang fits then; say why it waits in any case."""
        blocker, why = next((m, o) for m, o in zip(gang.members, outcomes, strict=False) if isinstance(o, Unplaced))
        named, fit = _named(gang, blocker.pod), _placed(outcomes)
        message = _told(gang, named, f"the {gang.needed} pods that are needed at once do not all fit", why.message)
        count = _told(gang, named, f"{fit} of the {gang.needed} pods that are needed at once fit", why.message)
        if why.reason == SCHEDULER_ERROR:
            return self._all_back(gang, replace(why, message=message, note=count, gang_fits=fit), named)
        engine = self._engines[blocker.pod.scheduler_name]
        planned, nominate = self._plan_evictions(gang) if engine.runner.lineup.post_filter else ({}, "")
        if any(plan.victims for plan in planned.values()):
            return [(member, _waiting_for_room(gang, planned.get(member.pod.uid))) for member in gang.members]
        name = gang.plugin.name
        knows_when = gang.plugin.turned_down(gang.name, gang.pods, message)
        outcome = Unplaced(
            message,
            rejected_by=why.rejected_by | {name},
            pending=why.pending | ({name} if knows_when else set()),
            nominate=nominate,
            note=count,
            gang_fits=fit,
        )
        return self._all_back(gang, outcome, named)

    def _plan_evictions(self, gang: Gang) -> tuple[dict[str, Unplaced], str | None]:
        """Return for enough members, by uid, where they would go and at whose expense; {} if that is not enough.

        Besides, what becomes of earlier promises: None lets them stand, as long as victims of theirs are leaving.
        """
        planned: dict[str, Unplaced] = {}
        with self._pretending() as pretence:
            for left, member in zip(range(len(gang.members), 0, -1), gang.members, strict=True):
                if len(planned) + left < gang.needed or len(planned) == gang.needed:
                    break
                plan = pretence.place(member.pod)
                if plan is not None:
                    planned[member.pod.uid] = plan
        promises = None if pretence.victims_leave else ""
        return planned if len(planned) >= gang.needed else {}, promises

    @contextmanager
    def _pretending(self) -> Iterator["Pretence"]:
        pretence = Pretence(self._cache, self._scheduler)
        try:
            yield pretence
        finally:
            pretence.undo()

    def _all_back(self, gang: Gang, outcome: Unplaced, noted: Pod | None = None) -> list[Decision]:
        """Send all members back; one alone carries what is noted besides."""
        briefly = replace(outcome, note="")
        return [(member, outcome if member.pod is noted else briefly) for member in gang.members]


class Pretence:
    """Places that are given and victims that leave for as long as nobody else looks."""

    def __init__(self, cache: ClusterCache, scheduler: Scheduler) -> None:
        self._cache = cache
        self._scheduler = scheduler
        self._placed: list[Placed] = []
        self._assumed: list[str] = []
        self._gone: list[Pod] = []
        self.victims_leave = False  # of an earlier eviction

    def place(self, pod: Pod) -> Unplaced | None:
        """Return where a pod would go, and who would have to leave for it; None if there is no way."""
        outcome = self._scheduler.schedule(pod)
        if isinstance(outcome, Placed):
            self._placed.append(outcome)
            return Unplaced("", nominate=outcome.node)
        if not outcome.nominate or not outcome.victims:
            self.victims_leave |= outcome.nominate is None
            return None
        nodes = map(self._cache.find_node, (outcome.nominate, *outcome.other_nodes))
        victims = [
            pod for info in nodes if info is not None for pod in info.pods.values() if pod.key in outcome.victims
        ]
        for victim in victims:
            self._cache.remove_pod(victim.uid)
        self._gone += victims
        self._cache.assume(pod.on(outcome.nominate))
        self._assumed.append(pod.uid)
        return outcome

    def undo(self) -> None:
        """Let everything be as it was."""
        for placed in reversed(self._placed):
            self._scheduler.take_back(placed)
        for uid in self._assumed:
            self._cache.forget(uid)
        for pod in self._gone:
            self._cache.put_pod(pod)


def _placed(outcomes: Sequence[Outcome]) -> int:
    return sum(isinstance(outcome, Placed) for outcome in outcomes)


def _waiting_for_room(gang: Gang, plan: Unplaced | None) -> Unplaced:
    message, name = f"PodGroup {gang.name} waits for pods to leave that are evicted for it", gang.plugin.name
    if plan is None:  # beyond the number that is needed
        return Unplaced(message, rejected_by=frozenset({name}), nominate=None)
    return replace(plan, message=message, rejected_by=plan.rejected_by | {name})


def _permitted(gang: Gang) -> Callable[[Outcome], Outcome]:
    """Return a function that lets go who waits only for the rest of the gang."""

    def permitted(outcome: Outcome) -> Outcome:
        if not isinstance(outcome, Placed) or gang.plugin.name not in outcome.waits:
            return outcome
        return replace(outcome, waits={name: wait for name, wait in outcome.waits.items() if name != gang.plugin.name})

    return permitted


def _objected(plugin: FormsGangs, objection: Rejection) -> Unplaced:
    # Who is pending here waits for time to pass, and nothing that happens to the cluster helps.
    rejected_by = frozenset() if objection.pending else frozenset({plugin.name})
    return Unplaced(objection.message, UNSCHEDULABLE, rejected_by=rejected_by, nominate=None)


def _named(gang: Gang, blocker: Pod) -> Pod:
    """Return the pod to name as the one that did not fit: of those that are alike always the same one.

    Which of them is left over depends on how many fit, and every member would be told anew for nothing.
    """
    return max((pod for pod in gang.pods if pod.shape is blocker.shape), key=lambda pod: pod.name)


def _told(gang: Gang, blocker: Pod, how_many: str, why: str) -> str:
    return (
        f"PodGroup {gang.name} gets rejected due to Pod {blocker.name} is unschedulable even after PostFilter: "
        f"{how_many}, this one does not: {why}"
    )


def _size(member: QueuedPod) -> tuple[int, int, int, float]:
    requests = member.pod.requests
    extended = sum(amount for name, amount in requests.items() if "/" in name)
    return extended, requests.get("cpu", 0), requests.get("memory", 0), -member.timestamp
