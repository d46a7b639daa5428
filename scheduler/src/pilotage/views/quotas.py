"""Quotas: guaranteed, used, borrowed and lent."""

from collections.abc import Iterator, Mapping

from pilotage.kinds.elastic_quota import ElasticQuota
from pilotage.kinds.quota_accounting import Quota, QuotaLedger, counts_as
from pilotage.model.pod import Pod
from pilotage.plugins.quota.capacity_scheduling.capacity_scheduling import CapacityScheduling
from pilotage.views.answers import Quotas, QuotaView, QuotaWaiting
from pilotage.views.state import STEP, Stamp, State, Steps
from pilotage.views.viewer import Viewer, Words


def quotas(state: State, viewer: Viewer, stamp: Stamp, namespace: str = "") -> Steps[Quotas]:
    """Return the quotas of visible namespaces."""
    ledger = _ledger(state)
    if ledger is None:
        return Quotas(at=stamp.at, revision=stamp.revision, source=stamp.source)
    waiting = yield from _waiting(state, ledger)
    shown = [
        _shown(ledger, quota, viewer, waiting.get(quota.key, QuotaWaiting()))
        for quota in ledger.table.quotas
        if viewer.sees(quota.namespace) and namespace in ("", quota.namespace)
    ]
    return Quotas(at=stamp.at, revision=stamp.revision, source=stamp.source, items=shown)


def quota_of(state: State, pod: Pod, words: Words) -> str:
    """Return namespace/name of a pod's quota; "" for none, or one that the viewer may not see."""
    for ledger in _ledgers(state, pod.scheduler_name):
        quota = ledger.quota_of(pod)
        return quota.key if quota is not None and words.sees(quota.namespace) else ""
    return ""


def _ledgers(state: State, profile: str | None = None) -> Iterator[QuotaLedger]:
    for name, engine in state.engines.items():
        for plugin in engine.runner.plugin_set.plugins().values():
            if isinstance(plugin, CapacityScheduling) and profile in (None, name):
                yield plugin.ledger(state.cache.objects)


def _ledger(state: State) -> QuotaLedger | None:
    """Return the ledger of any profile: all are the same."""
    return next(_ledgers(state), None) if list(state.cache.objects.all(ElasticQuota)) else None


def _waiting(state: State, ledger: QuotaLedger) -> Steps[dict[str, QuotaWaiting]]:
    pods: dict[str, int] = {}
    requests: dict[str, dict[str, int]] = {}
    for number, queued in enumerate(state.queue):
        if number % STEP == STEP - 1:
            yield
        quota = ledger.quota_of(queued.pod)
        if quota is not None:
            pods[quota.key] = pods.get(quota.key, 0) + 1
            sums = requests.setdefault(quota.key, {})
            for name, amount in quota.of(counts_as(queued.pod)).items():
                sums[name] = sums.get(name, 0) + amount
    return {key: QuotaWaiting(pods=number, requests=requests[key]) for key, number in pods.items()}


def _shown(ledger: QuotaLedger, quota: Quota, viewer: Viewer, waiting: QuotaWaiting) -> QuotaView:
    used = ledger.used(quota)
    covered = ledger.table.in_force.get(quota.key, frozenset())
    return QuotaView(
        namespace=quota.namespace,
        name=quota.name,
        covers=sorted(each for each in covered if viewer.sees(each)),
        min=dict(quota.min),
        max=dict(quota.max),
        used=dict(used),
        borrowed=_beyond(used, quota.min),
        lent=_lent(ledger, quota, used),
        waiting=waiting,
    )


def _beyond(used: Mapping[str, int], bound: Mapping[str, int]) -> dict[str, int]:
    return {name: more for name, amount in used.items() if (more := amount - bound.get(name, 0)) > 0}


def _lent(ledger: QuotaLedger, quota: Quota, used: Mapping[str, int]) -> dict[str, int]:
    """Return how much of a quota's guarantee others use: its share of everything borrowed, by what it has spare."""
    spare = {name: amount - used.get(name, 0) for name, amount in quota.min.items() if amount > used.get(name, 0)}
    lent = {}
    for name, free in spare.items():
        borrowed = sum(_beyond(ledger.used(each), each.min).get(name, 0) for each in ledger.table.quotas)
        all_spare = sum(max(0, each.min.get(name, 0) - ledger.used(each).get(name, 0)) for each in ledger.table.quotas)
        if share := min(free, borrowed * free // all_spare):
            lent[name] = share
    return lent
