"""Reclaims borrowed resources on several nodes at once: for quotas, the node of a borrowing pod does not matter.

The pod itself must fit on one node, and victims for that are chosen there; further victims for the quotas can be on any
node.
"""

from collections.abc import Iterable, Sequence

from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.nodes import NodeInfo
from pilotage.framework.runtime.preemption.shortage import Room
from pilotage.framework.runtime.preemption.victims import Victims, by_importance, not_reprieved
from pilotage.kinds.disruption import DisruptionBudgets
from pilotage.model.pod import Pod
from pilotage.plugins.quota.capacity_scheduling.quota_standing import QuotaStanding


class WideReclaim:
    """All pods on any node from which a pod could reclaim resources, in the order of eviction."""

    def __init__(self, cycle: Cycle, standing: QuotaStanding, budgets: DisruptionBudgets, now: float) -> None:
        self._cycle, self._standing, self._budgets, self._now = cycle, standing, budgets, now
        self._scarce = {excess.resource for excess in standing.over_total}
        self._borrowers = self._in_turn(self._find())

    def on(self, info: NodeInfo, in_the_way: Sequence[Pod] = ()) -> Victims | None:
        """Return the victims that make the pod fit on a node, including those on that node.

        None if the quotas do not admit the pod even then, or one would get less than its min.
        """
        victims = [*in_the_way, *self._owed(in_the_way)]
        trial = self._cycle.try_on(info)
        for other in victims:
            trial.remove(other)
        if trial.verdict() is not None:  # with all filters, and all quotas
            return None
        leaving = not_reprieved(trial, self._in_turn(victims)[::-1], Room(self._cycle.pod, trial.info, ()))
        evicted = by_importance((other for other in victims if other.uid in leaving), self._now)
        violating, _ = self._budgets.split(evicted[::-1])
        return Victims(info.name, tuple(evicted), len(violating)) if evicted else None

    def _find(self) -> list[Pod]:
        """Return the borrowing pods, in one pass over all pods of the cluster."""
        cycle, standing, near = self._cycle, self._standing, self._standing.within_reach()
        found = [
            other
            for info in cycle.nodes
            for other in info.pods.values()
            if other.namespace in near and standing.surplus(other, self._scarce)
        ]
        if not found:
            return []
        rules = cycle.try_on(cycle.nodes[0])  # for rules, the victim's node does not matter
        return [other for other in found if rules.may_evict(other)]

    def _owed(self, in_the_way: Sequence[Pod]) -> list[Pod]:
        """Return victims one after the other, until the quotas admit the pod."""
        after, gone = self._standing.clone(), {other.uid for other in in_the_way}
        for other in in_the_way:
            after.change(other, -1)
        owed: list[Pod] = []
        for other in self._borrowers:
            missing = {excess.resource for excess in after.over_total}
            if not missing:
                break
            if other.uid not in gone and after.surplus(other, self._scarce).keys() & missing:
                after.change(other, -1)
                owed.append(other)
        return owed

    def _in_turn(self, pods: Iterable[Pod]) -> list[Pod]:
        """Sort terminating pods first, then by importance, and those that violate a budget last."""
        ranked = by_importance(pods, self._now)[::-1]
        ranked.sort(key=lambda pod: not pod.is_terminating)
        violating, others = self._budgets.split(ranked)
        return [*others, *violating]
