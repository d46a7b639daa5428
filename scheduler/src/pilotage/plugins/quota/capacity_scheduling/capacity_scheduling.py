"""CapacityScheduling: elastic quotas; namespaces borrow unused quota, and reclaim it by preemption."""

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

import numpy as np

from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.demand import LimitsDemand
from pilotage.framework.api.events import Action, Event, Resource, Retry
from pilotage.framework.api.nodes import NodeInfo, Nodes
from pilotage.framework.api.objects import Objects
from pilotage.framework.api.plugin import EvictionRule, FollowsPods, PreFilter
from pilotage.framework.api.remedies import Remedy
from pilotage.framework.api.verdicts import (
    QUEUED,
    SKIP_KIND,
    Nominated,
    NoRoom,
    PluginFailed,
    PreFiltered,
    Rejection,
    Verdicts,
)
from pilotage.framework.runtime.fence import CycleFailed
from pilotage.framework.runtime.preemption.candidates import Candidates, by_harm, no_room, try_nodes
from pilotage.framework.runtime.preemption.evicting import NEVER, VICTIM_IS_LEAVING, Evicting
from pilotage.framework.runtime.preemption.preemption_outlook import helped, with_room
from pilotage.framework.runtime.preemption.victims import NO_VICTIMS, MayGo, Victims
from pilotage.kinds.elastic_quota import ElasticQuota
from pilotage.kinds.quota_accounting import QuotaLedger, counts_as, table_of, told
from pilotage.kinds.workloads import Namespace, PodDisruptionBudget
from pilotage.model.pod import Pod
from pilotage.model.selectors import LabelSelector
from pilotage.plugins.quota.capacity_scheduling.pending_evictions import PendingEvictions
from pilotage.plugins.quota.capacity_scheduling.quota_demand import QuotaDemand
from pilotage.plugins.quota.capacity_scheduling.quota_remedies import quota_remedies
from pilotage.plugins.quota.capacity_scheduling.quota_standing import QuotaStanding, Reach
from pilotage.plugins.quota.capacity_scheduling.wide_reclaim import WideReclaim

log = logging.getLogger(__name__)

WITH_POD = "used with this pod"
NO_NOTES = "not eligible due to failed to read from cycleState"
ROOM_COMES = "not eligible due to evicted pods that have not terminated yet."
CANDIDATES = 100  # at which the search stops; DefaultPreemption's minimum
MOST_PLACES = 10  # tried with victims on other nodes, of those that fit and of those that preemption frees
MOST_WARNINGS = 10_000  # remembered, since quotas may have unique names


class CapacityScheduling(PreFilter, Evicting, FollowsPods, EvictionRule, LimitsDemand):
    """Keep namespaces within their elastic quotas, and reclaim borrowed resources by preemption."""

    retry_on = (
        Retry(Resource.ASSIGNED_POD, Action.DELETE | Action.UPDATE_POD_SCALE_DOWN, "gave_something_back"),
        Retry(Resource.UNSCHEDULED_POD, Action.DELETE, "gave_something_back"),
        Retry(ElasticQuota, Action.ALL, "bounds_changed"),
        Retry(Resource.NAMESPACE, Action.ALL, "labels_changed"),
    )
    reads = (ElasticQuota, Namespace, PodDisruptionBudget)

    def __post_init__(self) -> None:
        """Start with empty state."""
        super().__post_init__()
        self._ledger = QuotaLedger()
        self._settled: tuple[Objects, int] | None = None  # the quotas and namespaces of the current ledger
        self._warned: set[str] = set()  # about invalid quotas
        self._pending_evictions = PendingEvictions()
        self._demand = QuotaDemand()

    def pod_placed(self, pod: Pod) -> None:
        """Add a pod."""
        self._ledger.place(pod)
        self._pending_evictions.placed(pod)
        self._demand.withdraw(pod)

    def pod_left(self, pod: Pod) -> None:
        """Remove a pod."""
        self._ledger.take_away(pod)
        self._pending_evictions.left(pod)

    def pre_filter(self, cycle: Cycle, pod: Pod) -> PreFiltered:
        """Reject a pod that exceeds its quota's max, or what it can borrow."""
        rejected = f"Pod {pod.key} is rejected in PreFilter because"
        if broken := cycle.objects.troubles(ElasticQuota, pod.namespace):  # the namespace's quota is unknown
            name, reason = next(iter(broken.items()))
            text = f"ElasticQuota {pod.namespace}/{name} cannot be decoded: {reason}; correct it, or delete it"
            return Rejection(f"{rejected} {text}", preemption_helps=False, held_as=QUEUED)
        ledger = self.ledger(cycle.objects)
        quota = ledger.quota_of(pod)
        if quota is None:
            return SKIP_KIND
        standing = cycle.notes[self.name] = QuotaStanding.of(cycle, ledger, pod, quota)
        if excess := standing.over_max:
            text = f"ElasticQuota {quota.title} is more than Max ({told(excess, WITH_POD, 'allowed')})"
            return Rejection(f"{rejected} {text}", held_as=QUEUED)
        if excess := standing.over_total:
            bound = told(excess, WITH_POD, "guaranteed in all")
            return Rejection(f"{rejected} total ElasticQuota used is more than min ({bound})", held_as=QUEUED)
        return None

    def remedies(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Iterator[Remedy]:
        """Offer to lower the pod's requests, or to raise the quota."""
        standing: QuotaStanding | None = cycle.notes.get(self.name)
        return iter(()) if standing is None else quota_remedies(cycle.objects, standing)

    def add_pod(self, cycle: Cycle, pod: Pod, other: Pod, node: NodeInfo) -> None:
        """Add another pod."""
        cycle.notes[self.name].change(other, 1)

    def remove_pod(self, cycle: Cycle, pod: Pod, other: Pod, node: NodeInfo) -> None:
        """Remove another pod."""
        cycle.notes[self.name].change(other, -1)

    def may_evict(self, cycle: Cycle, pod: Pod, victim: Pod) -> bool:
        """Return whether a pod may be evicted: within a quota by priority, across quotas only if it borrows."""
        standing: QuotaStanding | None = cycle.notes.get(self.name)
        if standing is not None:
            return standing.may_evict(victim)
        ledger = self.ledger(cycle.objects)
        without = ledger.quota_of(pod) is None and ledger.quota_of(victim) is None
        return without and victim.priority < pod.priority

    def objection(self, cycle: Cycle, pod: Pod) -> Rejection | None:
        """Return why the quota would not admit the pod even then."""
        standing: QuotaStanding | None = cycle.notes.get(self.name)
        if standing is None:
            return None
        excess = standing.over_max or standing.over_total
        if not excess:
            return None
        # Amounts depend on the victims of each node; a message with them would grow with the number of nodes.
        return Rejection(f"global quota max exceeded ({', '.join(name for name, _, _ in excess)})")

    def candidates(self, cycle: Cycle, pod: Pod, verdicts: Verdicts, now: float) -> list[Victims] | NoRoom:
        """Return the candidates, at least one, or why there is none."""
        standing: QuotaStanding | None = cycle.notes.get(self.name)
        reason = self._ineligible(cycle, pod, verdicts, standing)  # 1. is the pod eligible
        if reason is not None:
            return NoRoom(f"preemption: {reason}", keeps_nomination=True)
        if standing is None or standing.first_reach is Reach.OWN:
            tried = self._try(cycle, pod, verdicts, now)  # 2. pods of lower priority of its own quota
            return tried.found or no_room(cycle.node_count, tried, Counter())
        standing.reach = Reach.BORROWERS
        tried = self._try(cycle, pod, verdicts, now)  # 2. or borrowing pods
        if tried.found:
            return tried.found
        wide = self._on_several_nodes(cycle, pod, verdicts, tried.rejections, now)  # 3. borrowing pods on several nodes
        if wide is not None:
            return [wide]
        standing.reach = Reach.OWN
        own = self._try(cycle, pod, verdicts, now)  # 4. otherwise, less important pods of its own quota
        return own.found or no_room(cycle.node_count, tried, Counter())

    def no_node_helps(self, pods: Sequence[Pod]) -> str:
        """Return which quota would not admit these pods in addition to those that already request nodes."""
        return self._demand.ask(self.ledger(self.handle.objects), pods)

    def withdraw_request(self, pod: Pod) -> bool:
        """Record that a pod no longer requests a node."""
        return self._demand.withdraw(pod)

    def evictions_began(self, preemptor: Pod, victims: Sequence[Pod]) -> None:
        """Record pods that are being evicted for another one."""
        self._pending_evictions.tell(preemptor, victims)

    def evictions_cancelled(self, victims: Sequence[Pod]) -> None:
        """Record pods that stay after all."""
        self._pending_evictions.call_off(victims)

    def enough_leave(self, cycle: Cycle, pod: Pod, verdicts: Verdicts) -> Nominated | NoRoom | None:
        """Return why a pod of a quota needs no more victims, from any plugin."""
        standing: QuotaStanding | None = cycle.notes.get(self.name)
        if standing is None or pod.spec.preemption_policy == "Never":
            return None
        node = self._node_to_come(cycle, verdicts, standing)
        if node and not pod.nominated_node and standing.first_reach is Reach.BORROWERS:
            return Nominated(node, (), f"preemption: {ROOM_COMES}")  # or a borrowing pod would come first
        if self._victims_leave(cycle, pod, verdicts):
            return NoRoom(f"preemption: {VICTIM_IS_LEAVING}", keeps_nomination=True)
        return NoRoom(f"preemption: {ROOM_COMES}", keeps_nomination=True) if node else None

    def _node_to_come(self, cycle: Cycle, verdicts: Verdicts, standing: QuotaStanding) -> str:
        """Stop counting already evicted pods; return a node where the pod fits without them, or "".

        Their nodes are nominated for other pods, which the quota counts: without this, every pod would evict for all.
        """
        leaving = self._pending_evictions.all()
        for other in leaving:
            standing.leave_out(other)
        if not leaving or standing.over_max or standing.over_total:
            return ""
        return next((info.name for info in _fitting(cycle, np.flatnonzero(helped(verdicts)).tolist(), leaving)), "")

    def _on_several_nodes(
        self, cycle: Cycle, pod: Pod, verdicts: Verdicts, rejections: Mapping[int, Rejection], now: float
    ) -> Victims | None:
        """Return victims on any nodes, for nodes where only the total of all quotas is exceeded."""
        standing: QuotaStanding = cycle.notes[self.name]
        over_quota = [place for place, rejection in rejections.items() if rejection.plugin == self.name]
        room = with_room(cycle.nodes, pod, self.handle.delegation.serves)
        open_to_it = (place for place, rejection in rejections.items() if rejection.plugin in ("", self.name))
        vacant = [place for place in open_to_it if room[place]]
        if not standing.over_total or not (over_quota or vacant):
            return None
        budgets, aside = self.disruption_budgets(cycle.objects), cycle.what_if()
        aside.notes[self.name] = standing.whatever_the_total()
        reclaim = WideReclaim(cycle, standing, budgets, now)
        for info in islice(_fitting(aside, vacant), MOST_PLACES):  # 1. where the pod fits
            if found := reclaim.on(info):
                return found
        made = try_nodes(aside, pod, verdicts, budgets, over_quota, MOST_PLACES, now, self._may_go(aside, pod))
        for victims in by_harm(made.found, now):  # 2. where preemption makes it fit
            freed = cycle.nodes.find(victims.node)
            if freed is not None and (found := reclaim.on(freed, victims.pods)):
                return found
        return None

    def _try(self, cycle: Cycle, pod: Pod, verdicts: Verdicts, now: float) -> Candidates:
        """Try nodes, those with the least important victims first, so that decisions are reproducible."""
        may_go = self._may_go(cycle, pod)
        least: dict[int, int] = {}  # by index: a lower bound on the harm of evictions there
        bare: list[int] = []
        for place in np.flatnonzero(helped(verdicts)).tolist():
            priorities = [other.priority for other in cycle.nodes[place].pods.values() if may_go(other)]
            if priorities:
                least[place] = min(priorities)
            else:
                bare.append(place)
        budgets, places = self.disruption_budgets(cycle.objects), sorted(least, key=lambda place: least[place])
        tried = try_nodes(cycle, pod, verdicts, budgets, places, CANDIDATES, now, may_go)
        for place in bare:
            tried.add(place, NO_VICTIMS)
        return tried

    def _may_go(self, cycle: Cycle, pod: Pod) -> MayGo:
        """Return which pods can be victims now; evictions never add any."""
        standing: QuotaStanding | None = cycle.notes.get(self.name)
        if standing is None:
            quota_of = self.ledger(cycle.objects).quota_of
            return lambda other: other.priority < pod.priority and quota_of(other) is None
        near, may_evict = standing.within_reach(), standing.may_evict
        return lambda other: other.namespace in near and may_evict(other)

    def _ineligible(self, cycle: Cycle, pod: Pod, verdicts: Verdicts, standing: QuotaStanding | None) -> str | None:
        """Return why the pod may not evict others now."""
        if pod.spec.preemption_policy == "Never":
            return NEVER
        if standing is None and self.ledger(cycle.objects).quota_of(pod) is not None:
            return NO_NOTES  # the profile does not enable this plugin's PreFilter
        # Pods of a quota have been checked by `enough_leave`.
        return VICTIM_IS_LEAVING if standing is None and self._victims_leave(cycle, pod, verdicts) else None

    def _victims_leave(self, cycle: Cycle, pod: Pod, verdicts: Verdicts) -> bool:
        """Return whether pods that were evicted for this one have not terminated yet."""
        own = self._pending_evictions.made_for(pod)
        names = [other.node_name for other in own] or [pod.nominated_node]  # the watch may not show it yet
        nominated = [info for name in names if name and (info := cycle.nodes.find(name)) is not None]
        if not any(_may_do(verdicts[info.slot]) for info in nominated):
            return False  # no node is nominated, or it cannot help any more
        leaving = (other for info in nominated for other in info.pods.values() if other.is_terminating)
        return bool(own) or any(self._made_room(cycle, pod, other) for other in leaving)

    def _made_room(self, cycle: Cycle, pod: Pod, other: Pod) -> bool:
        """Return whether a terminating pod may have been evicted for this one."""
        ledger = self.ledger(cycle.objects)
        quota = ledger.quota_of(pod)
        of_its_own = quota is not None and ledger.quota_of(other) is quota and other.priority < pod.priority
        return of_its_own or self.may_evict(cycle, pod, other)

    def gave_something_back(self, pod: Pod, event: Event, old: Pod, new: Pod | None) -> bool:
        """Return whether resources were released that the pod requests and its quota limits."""
        ledger = self.ledger(self.handle.objects)
        quota = ledger.quota_of(pod)
        other = ledger.quota_of(old)
        if quota is None or other is None:
            return quota is None  # it no longer has a quota
        freed = other.of(counts_as(old))
        return any(amount > 0 and freed.get(name, 0) > 0 for name, amount in quota.of(counts_as(pod)).items())

    def bounds_changed(self, pod: Pod, event: Event, old: ElasticQuota | None, new: ElasticQuota | None) -> bool:
        """Return whether a quota has changed, except its status and the max of another quota."""
        if old is None or new is None or old.metadata.uid != new.metadata.uid:
            return True
        if _whose(old) != _whose(new) or old.spec.min != new.spec.min:
            return True
        quota = self.ledger(self.handle.objects).quota_of(pod)
        concerned = quota is None or quota.key == f"{new.metadata.namespace}/{new.metadata.name}"
        return concerned and old.spec.max != new.spec.max

    def labels_changed(self, pod: Pod, event: Event, old: Namespace | None, new: Namespace | None) -> bool:
        """Return whether another quota may apply to a namespace now."""
        before = {} if old is None else old.metadata.labels
        after = {} if new is None else new.metadata.labels
        quotas = self.handle.objects.all(ElasticQuota)
        return before != after and any(each.spec.namespace_selector is not None for each in quotas)

    def ledger(self, objects: Objects) -> QuotaLedger:
        """Return the usage for the current quotas and namespaces."""
        version = objects.version(ElasticQuota, Namespace)
        if self._settled is None or self._settled[0] is not objects or self._settled[1] != version:
            table = table_of(objects.all(ElasticQuota), objects.all(Namespace))
            self._ledger.settle(table)
            self._settled = objects, version
            for quota in table.quotas:
                for fault in quota.faults:
                    self._warn(f"quota {quota.key}: {fault}; it is ignored")
        return self._ledger

    def _warn(self, text: str) -> None:
        if text not in self._warned:
            if len(self._warned) >= MOST_WARNINGS:
                self._warned.clear()
            self._warned.add(text)
            log.warning("%s", text)


def _fitting(cycle: Cycle, places: Iterable[int], leaving: Sequence[Pod] = ()) -> Iterator[NodeInfo]:
    """Yield the nodes where the pod fits without some pods."""
    for place in places:
        try:
            trial = cycle.try_on(cycle.nodes[place])
            for other in leaving:
                if other.uid in trial.info.pods:
                    trial.remove(other)
            rejection = trial.verdict()
        except (CycleFailed, PluginFailed):
            continue  # reported only if no other node is found
        if rejection is None:
            yield cycle.nodes[place]


def _whose(quota: ElasticQuota) -> tuple[LabelSelector | None, str | None]:
    """Return the fields that select the pods of a quota."""
    return quota.spec.namespace_selector, quota.priority_classes


def _may_do(verdict: Rejection | None) -> bool:
    """Return whether a node that does not fit now may fit later."""
    return verdict is not None and (verdict.preemption_helps or verdict.pending)
