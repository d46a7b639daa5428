"""A dry run of evictions: places pods and removes victims in memory, and undoes everything afterwards.

Meanwhile watch events may be handled, but no pod may be scheduled: running pods are hidden.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace

from pilotage.cache.cluster_cache import ClusterCache
from pilotage.framework.api.verdicts import FollowUp
from pilotage.model.pod import Pod
from pilotage.scheduling.cycle import Scheduler
from pilotage.scheduling.outcome import Placed, Unplaced


class DryRun:
    """Places pods with preemption in memory only."""

    def __init__(self, cache: ClusterCache, scheduler: Scheduler, placed: Iterable[Placed] = ()) -> None:
        self._cache = cache
        self._scheduler = scheduler
        self._placed: list[Placed] = list(placed)  # so far without evictions
        self._assumed: list[str] = []
        self._gone: deque[str] = deque()  # the uids of the victims
        self._plans: dict[str, tuple[Unplaced, list[Pod]]] = {each.pod.uid: (_on(each), []) for each in self._placed}
        self.victims_leave = False  # of an earlier eviction
        self.follow_ups: tuple[FollowUp, ...] = ()  # of members that cannot be placed

    def __len__(self) -> int:
        return len(self._plans)

    def place(self, pod: Pod) -> bool:
        """Place a pod, and remove its victims; False if that is impossible."""
        outcome = self._scheduler.schedule(pod)
        if isinstance(outcome, Placed):
            self._placed.append(outcome)
            self._plans[pod.uid] = _on(outcome), []
            return True
        if not outcome.nominate or not outcome.victims:
            self.victims_leave |= outcome.nominate is None
            self.follow_ups += outcome.follow_ups
            return False
        nodes = map(self._cache.find_node, (outcome.nominate, *outcome.other_nodes))
        victims = [
            pod for info in nodes if info is not None for pod in info.pods.values() if pod.key in outcome.victims
        ]
        for victim in victims:
            self._cache.hide(victim.uid)
            self._gone.append(victim.uid)
        self._cache.assume(pod.on(outcome.nominate))
        self._assumed.append(pod.uid)
        self._plans[pod.uid] = outcome, victims
        return True

    def plans(self) -> dict[str, Unplaced]:
        """Return the node and victims of each pod, by uid; pods that have terminated meanwhile are no victims."""
        return {
            uid: replace(outcome, victims=tuple(pod.key for pod in victims if self._cache.find_pod(pod.uid)))
            for uid, (outcome, victims) in self._plans.items()
        }

    def undo(self) -> Iterator[None]:
        """Undo everything, step by step; if interrupted, another call continues."""
        while self._placed:
            self._scheduler.unreserve(self._placed.pop())
            yield
        while self._assumed:
            self._cache.forget(self._assumed.pop())
            yield
        while self._gone:
            self._cache.show(self._gone.popleft())
            yield


def _on(placed: Placed) -> Unplaced:
    return Unplaced("", nominate=placed.node)
