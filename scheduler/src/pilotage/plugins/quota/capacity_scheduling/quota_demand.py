"""The remaining quota for pods that wait for new nodes, after pods that requested nodes before."""

import time
from collections.abc import Callable, Mapping, Sequence

from pilotage.kinds.quota_accounting import Cohort, Excess, Quota, QuotaLedger, QuotaTable, add, beyond, counts_as
from pilotage.model.pod import Pod
from pilotage.model.requests import Requests

IN_ALL = ""  # in place of a quota's key
PATIENCE = 600.0  # seconds after which a pod without a new node must not block others any more
LOOK = 60.0  # seconds between two sweeps for such pods
_ByPriority = dict[int, Requests]


class QuotaDemand:
    """The pods that request nodes, and their totals by quota and priority; higher priorities come first."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._next_look = 0.0
        self._table = QuotaTable()
        self._pods: dict[str, tuple[Pod, float]] = {}  # by uid, with the time of the request
        self._sums: dict[str, _ByPriority] = {}  # by quota

    def ask(self, ledger: QuotaLedger, pods: Sequence[Pod]) -> str:
        """Add pods if their quotas admit all of them; otherwise return the exceeded bound."""
        self._follow(ledger)
        now = self._clock()
        self._forget_the_hopeless(now)
        since = {pod.uid: self._pods[pod.uid][1] for pod in pods if pod.uid in self._pods}
        for pod in pods:
            self.withdraw(pod)
        lowest = min(pod.priority for pod in pods)
        in_all: Requests = {}
        for quota, amounts in _by_quota(ledger.table, pods):
            add(in_all, amounts, 1)
            if excess := beyond(amounts, self._taken(ledger.used(quota), quota.key, lowest), quota.max):
                return _full(excess, f"ElasticQuota {quota.title} allows")
        if excess := beyond(in_all, self._taken(ledger.used_in_all, IN_ALL, lowest), ledger.guaranteed_in_all):
            return _full(excess, "all ElasticQuotas together guarantee")
        for pod in pods:
            self._count(pod, 1)
            self._pods[pod.uid] = pod, since.get(pod.uid, now)
        return ""

    def withdraw(self, pod: Pod) -> bool:
        """Remove a pod; True if it was among them."""
        known = self._pods.pop(pod.uid, None)
        if known is not None:
            self._count(known[0], -1)
        return known is not None

    def _forget_the_hopeless(self, now: float) -> None:
        if now >= self._next_look:
            self._next_look = now + LOOK
            for pod in [pod for pod, since in self._pods.values() if since + PATIENCE <= now]:
                self.withdraw(pod)

    def _taken(self, used: Mapping[str, int], key: str, lowest: int) -> Requests:
        """Return the usage, including requests for nodes by pods of at least this priority."""
        taken = dict(used)
        for priority, asked in self._sums.get(key, {}).items():
            if priority >= lowest:
                add(taken, asked, 1)
        return taken

    def _follow(self, ledger: QuotaLedger) -> None:
        """Recount if quotas have changed."""
        if self._table is not ledger.table:
            self._table, self._sums = ledger.table, {}
            for pod, _ in self._pods.values():
                self._count(pod, 1)

    def _count(self, pod: Pod, sign: int) -> None:
        for quota, amounts in _by_quota(self._table, [pod]):
            for key in (quota.key, IN_ALL):
                add(self._sums.setdefault(key, {}).setdefault(pod.priority, {}), amounts, sign)


def _by_quota(table: QuotaTable, pods: Sequence[Pod]) -> list[tuple[Quota, Requests]]:
    """Return the totals of pods for each of their quotas."""
    found: dict[str, tuple[Quota, Requests]] = {}
    for pod in pods:
        quota = table.quota_of(Cohort.of(pod))
        if quota is not None:
            add(found.setdefault(quota.key, (quota, {}))[1], quota.of(counts_as(pod)), 1)
    return list(found.values())


def _full(excess: Sequence[Excess], bound: str) -> str:
    return f"placed pods and pods that already ask for nodes use all that {bound} ({_names(excess)})"


def _names(excess: Sequence[Excess]) -> str:
    return ", ".join(each.resource for each in excess)
