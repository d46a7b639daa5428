"""The state of a pod's quota, now or in a what-if with other pods."""

from collections.abc import Mapping, Set
from enum import Enum

from pilotage.framework.api.cycle import Cycle
from pilotage.kinds.quota_accounting import Excess, Quota, QuotaLedger, add, beyond, counts_as
from pilotage.model.pod import Pod
from pilotage.model.requests import Requests


class Reach(Enum):
    """The pods that may be evicted for a pod."""

    OWN = "pods of its own quota with lower priority"
    BORROWERS = "pods of quotas that use more than their min"


class QuotaStanding:
    """The quota of a pending pod, including nominated pods and the changes of a what-if."""

    __slots__ = (
        "_changes",
        "_changes_in_all",
        "_ledger",
        "_nominated",
        "_settled",
        "asked",
        "asked_in_all",
        "pod",
        "quota",
        "reach",
    )

    def __init__(self, ledger: QuotaLedger, pod: Pod, quota: Quota) -> None:
        self._ledger = ledger
        self._changes: dict[str, Requests] = {}  # by quota, for the resources that it names
        self._changes_in_all: Requests = {}
        self._nominated: dict[str, Requests] = {}  # by other quota: the guaranteed part of its nominated pods
        self._settled: set[str] = set()  # by uid: pods that what-ifs do not change
        self.pod = pod
        self.quota = quota
        # The requests of the pod and of nominated pods of its quota that come first, for the pod's resources.
        self.asked = {name: amount for name, amount in quota.of(counts_as(pod)).items() if amount > 0}
        self.asked_in_all = dict(self.asked)  # the same, with pods of other quotas within their min
        self.reach = Reach.OWN

    @classmethod
    def of(cls, cycle: Cycle, ledger: QuotaLedger, pod: Pod, quota: Quota) -> "QuotaStanding":
        """Return the state at the start of a cycle."""
        standing = cls(ledger, pod, quota)
        for node in cycle.nominated_nodes():
            if cycle.nodes.find(node) is not None:
                for other in cycle.nominated(node):
                    standing._leave_room(other)
        standing.reach = standing.first_reach
        return standing

    @property
    def first_reach(self) -> Reach:
        """Return which pods are evicted first: borrowing ones, if the pod stays within its quota's min."""
        return Reach.BORROWERS if self._guaranteed and not self.over_min else Reach.OWN

    @property
    def over_max(self) -> list[Excess]:
        """Return the resources for which the quota would exceed its max."""
        return beyond(self.asked, self.used(self.quota), self.quota.max)

    @property
    def over_min(self) -> list[Excess]:
        """Return the resources for which the quota would exceed its min.

        A resource without a min is included if any other quota has one for it. Otherwise two quotas, each with a min
        for a different resource, could evict each other's pods in turn forever.
        """
        sure, in_all = self.quota.min, self._ledger.guaranteed_in_all
        return beyond(
            self.asked, self.used(self.quota), {name: sure.get(name, 0) for name in self.asked if name in in_all}
        )

    @property
    def over_total(self) -> list[Excess]:
        """Return the resources for which all quotas together would exceed the sum of their mins."""
        return beyond(self.asked_in_all, self._used_in_all, self._ledger.guaranteed_in_all)

    def used(self, quota: Quota) -> Mapping[str, int]:
        """Return the usage of a quota in this what-if."""
        used, changes = self._ledger.used(quota), self._changes.get(quota.key)
        return used if changes is None else _sum(used, changes)

    def may_evict(self, victim: Pod) -> bool:
        """Return whether a pod may be evicted for this one at this point."""
        quota = self._ledger.quota_of(victim)
        if quota is None:
            return False
        if self.reach is Reach.OWN:
            return quota.key == self.quota.key and victim.priority < self.pod.priority
        if quota.key == self.quota.key:
            return False
        used, amounts = self.used(quota), counts_as(victim)
        return any(amounts.get(name, 0) > 0 and quota.borrows(used, name) for name in self._guaranteed)

    def surplus(self, victim: Pod, scarce: Set[str]) -> Requests:
        """Return which scarce resources evicting a pod of another quota frees; none within that quota's min."""
        quota = self._ledger.quota_of(victim)
        if quota is None or quota.key == self.quota.key or victim.uid in self._settled:
            return {}
        used = self.used(quota)
        given = {name: n for name, n in quota.of(counts_as(victim)).items() if n > 0 and name in scarce}
        is_sure = any(used.get(name, 0) - amount < quota.min.get(name, 0) for name, amount in given.items())
        return {} if is_sure else given

    def within_reach(self) -> Set[str]:
        """Return the namespaces that may contain victims."""
        table, quotas = self._ledger.table, self._ledger.table.quotas
        reached = [self.quota] if self.reach is Reach.OWN else [quota for quota in quotas if self._has_borrowed(quota)]
        return frozenset().union(*(table.in_force.get(quota.key, frozenset()) for quota in reached))

    def _has_borrowed(self, quota: Quota) -> bool:
        used = self.used(quota)
        return quota.key != self.quota.key and any(quota.borrows(used, name) for name in self._guaranteed)

    def change(self, other: Pod, sign: int) -> None:
        """Add or remove another pod; one with a nominated node is already counted."""
        quota = self._ledger.quota_of(other)
        if quota is None or other.uid in self._settled:
            return
        amounts = quota.of(counts_as(other))
        add(self._changes.setdefault(quota.key, {}), amounts, sign)
        add(self._changes_in_all, amounts, sign)

    def leave_out(self, other: Pod) -> None:
        """Stop counting a pod, regardless of what-ifs."""
        self.change(other, -1)
        self._settled.add(other.uid)

    def whatever_the_total(self) -> "QuotaStanding":
        """Return a copy that ignores the total of all quotas."""
        copy = self.clone()
        copy.asked_in_all = {}
        return copy

    def clone(self) -> "QuotaStanding":
        """Return a copy that can change."""
        copy = QuotaStanding.__new__(QuotaStanding)
        copy._ledger, copy._settled, copy.pod, copy.quota = self._ledger, self._settled, self.pod, self.quota
        copy._nominated = self._nominated
        copy.asked, copy.asked_in_all, copy.reach = self.asked, self.asked_in_all, self.reach
        copy._changes = {key: dict(changes) for key, changes in self._changes.items()}
        copy._changes_in_all = dict(self._changes_in_all)
        return copy

    @property
    def _guaranteed(self) -> list[str]:
        """Return the requested resources for which the quota has a min."""
        return [name for name in self.asked if name in self.quota.min]

    @property
    def _used_in_all(self) -> Mapping[str, int]:
        used, changes = self._ledger.used_in_all, self._changes_in_all
        return _sum(used, changes) if changes else used

    def _leave_room(self, other: Pod) -> None:
        """Count a nominated pod if it comes before this one."""
        quota = self._ledger.quota_of(other)
        if quota is None or other.uid == self.pod.uid:
            return
        self._settled.add(other.uid)
        amounts = {name: amount for name, amount in quota.of(counts_as(other)).items() if name in self.asked}
        if quota.key != self.quota.key:
            add(self.asked_in_all, self._within_min(quota, amounts), 1)
        elif other.priority >= self.pod.priority:
            add(self.asked, amounts, 1)
            add(self.asked_in_all, amounts, 1)

    def _within_min(self, quota: Quota, amounts: Requests) -> Requests:
        """Return the part of a nominated pod within another quota's min, after those before it.

        The rest would be borrowed: a pod within its own min does not have to respect that.
        """
        used, nominated = self._ledger.used(quota), self._nominated.setdefault(quota.key, {})
        sure = {
            name: amount
            for name, amount in amounts.items()
            if used.get(name, 0) + nominated.get(name, 0) + amount <= quota.min.get(name, 0)
        }
        add(nominated, sure, 1)
        return sure


def _sum(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return {name: one.get(name, 0) + other.get(name, 0) for name in one.keys() | other.keys()}
