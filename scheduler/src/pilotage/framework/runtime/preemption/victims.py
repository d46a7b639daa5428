"""Selects the victims on one node so that a pod fits: the fewest and least important ones."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from math import inf

from pilotage.framework.api.cycle import Trial
from pilotage.framework.api.verdicts import PluginFailed, Rejection
from pilotage.framework.runtime.preemption.shortage import Room
from pilotage.kinds.disruption import DisruptionBudgets
from pilotage.model.moments import seconds_of
from pilotage.model.pod import Pod

MayGo = Callable[[Pod], bool]  # selects possible victims, before all other rules

NO_VICTIMS = Rejection("No preemption victims found for incoming pod", preemption_helps=False)
ALL_FOREIGN = Rejection("Pods of other schedulers are not evicted", preemption_helps=False)


# Makes every priority positive, so that two victims never weigh less than one.
OFFSET = 1 << 31


@dataclass(frozen=True, slots=True)
class Victims:
    """The pods to evict from a node, most important first, and how many of them violate a disruption budget."""

    node: str
    pods: tuple[Pod, ...]
    violations: int = 0
    _harm: tuple[int, ...] | None = field(default=None, init=False, repr=False, compare=False)
    _starts: tuple[float, float] = field(default=(inf, inf), init=False, repr=False, compare=False)

    @property
    def other_nodes(self) -> tuple[str, ...]:
        """Return the other nodes that some of them are on."""
        return tuple(dict.fromkeys(pod.node_name for pod in self.pods if pod.node_name != self.node))

    def harm(self, now: float) -> tuple[float, ...]:
        """Return the sort key by harm, the most important criterion first; evaluated for each comparison of nodes."""
        if self._harm is None:
            highest = self.pods[0].priority
            total = sum(pod.priority + OFFSET for pod in self.pods)
            most_important = [seconds_of(pod.status.start_time) for pod in self.pods if pod.priority == highest]
            known = min((start for start in most_important if start is not None), default=inf)
            object.__setattr__(self, "_harm", (self.violations, highest, total, len(self.pods)))
            object.__setattr__(self, "_starts", (known, 0.0 if None in most_important else inf))
        assert self._harm is not None
        first, unknown = self._starts
        return *self._harm, -min(first, now + unknown)  # a pod that has just started loses little work


def started(pod: Pod, now: float) -> float:
    """Return when a pod started; now if it has not."""
    moment = seconds_of(pod.status.start_time)
    return now if moment is None else moment


def by_importance(pods: Iterable[Pod], now: float) -> list[Pod]:
    """Sort the most important first: a higher priority, then an earlier start."""
    return sorted(pods, key=lambda pod: (-pod.priority, started(pod, now)))


def needs_neighbours(pod: Pod) -> bool:
    """Return whether a pod may depend on pods that would be evicted for it.

    For all filters except required affinity, fewer pods on a node are never worse.
    """
    affinity = pod.spec.affinity
    return affinity is not None and affinity.pod_affinity is not None and bool(affinity.pod_affinity.required)


def select_victims(
    trial: Trial,
    pod: Pod,
    budgets: DisruptionBudgets,
    now: float,
    short: Sequence[str] = (),
    may_go: MayGo | None = None,
) -> Victims | Rejection:
    """Return the pods to evict from the node of the trial, or why evictions do not help.

    `short` names the resources that the node lacks, if that is why it rejected the pod; it saves calls without changing
    the result. `may_go` selects possible victims; without it, every pod of lower priority is one.
    """
    may_go = may_go or (lambda other: other.priority < pod.priority)
    could_go = [other for other in trial.info.pods.values() if may_go(other)]
    own = [other for other in could_go if not trial.is_foreign(other)] if trial.spares_foreign else could_go
    if could_go and not own:
        return ALL_FOREIGN
    ranked = by_importance(own, now)
    if trial.has_rules:
        ranked, short = _allowed(trial, ranked), ()
    if not ranked:
        return NO_VICTIMS
    violating, others = budgets.split(ranked)
    leaving = None
    if short and not needs_neighbours(pod):
        leaving = _without_room(trial, pod, [*violating, *others], short)
    if leaving is None:
        rejection = _clear(trial, ranked)
        if rejection is not None:
            return rejection
        leaving = not_reprieved(trial, [*violating, *others], Room(pod, trial.info, short))
    if not leaving:
        raise PluginFailed(f'expected at least one victim pod on node "{trial.info.name}"')
    victims = tuple(other for other in ranked if other.uid in leaving)
    return Victims(trial.info.name, victims, sum(other.uid in leaving for other in violating))


def _allowed(trial: Trial, ranked: Sequence[Pod]) -> list[Pod]:
    """Remove pods that the rules permit to evict, the least important first; each removal may protect the next pod."""
    gone: set[str] = set()
    for other in reversed(ranked):
        if trial.may_evict(other):
            trial.remove(other)
            gone.add(other.uid)
    return [other for other in ranked if other.uid in gone]


def _without_room(trial: Trial, pod: Pod, victims: Sequence[Pod], short: Sequence[str]) -> set[str] | None:
    """Return the pods that do not fit beside the pod and more important ones, by uid; None if that is not sufficient.

    If the pod fits without only these, it also fits at every step on which more pods are removed.
    """
    room = Room(pod, trial.info, short, leaving=victims)
    leaving = [other for other in victims if not room.take(other)]
    for other in leaving:
        trial.remove(other)
    return {other.uid for other in leaving} if trial.verdict() is None else None


def _clear(trial: Trial, victims: Iterable[Pod]) -> Rejection | None:
    """Remove all remaining pods; return why the pod does not fit even then."""
    for other in victims:
        if other.uid in trial.info.pods:
            trial.remove(other)
    return trial.verdict()


def not_reprieved(trial: Trial, victims: Iterable[Pod], room: Room) -> set[str]:
    """Add pods back one after the other while the pod still fits; return the rest by uid."""
    leaving: set[str] = set()
    for other in victims:
        if room.take(other):
            trial.add(other)
            if trial.verdict() is None:
                continue
            trial.remove(other)
            room.release(other)
        leaving.add(other.uid)
    return leaving
