"""The desired status of an ElasticQuota: the usage that the scheduler's decisions are based on, and errors."""

from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from typing import Any, Protocol

from msgspec import Struct

from pilotage.kinds.elastic_quota import ElasticQuota
from pilotage.kinds.quota_accounting import (
    Cohort,
    Quota,
    QuotaLedger,
    QuotaTable,
    counts_as,
    is_charged,
    quantity_text,
    read_quota,
    told,
)
from pilotage.kinds.workloads import Namespace
from pilotage.model.pod import Pod
from pilotage_operator.controllers.conditions import ConditionState, StoredCondition, conditions, turns
from pilotage_operator.controllers.outcome import StatusEvent

CONFLICT, VALID = "Conflict", "Valid"
GOOD = {CONFLICT: False, VALID: True}


class ElasticQuotaStatus(Struct, frozen=True, rename="camel"):
    """The stored status of a quota."""

    conditions: tuple[StoredCondition, ...] = ()


class StoredElasticQuota(ElasticQuota, rename="camel"):
    """An ElasticQuota with its status."""

    status: ElasticQuotaStatus = ElasticQuotaStatus()


class Settled(Protocol):
    """The mapping from pods to quotas."""

    @property
    def summary(self) -> QuotaTable:
        """Return it."""


def facts(each: Pod | Namespace | ElasticQuota) -> Any:
    """Return the relevant part of an object: a pod's usage, a namespace's labels, a quota's bounds and selection."""
    if isinstance(each, Pod):
        return counts_as(each) if is_charged(each) else None
    return each.metadata.labels if isinstance(each, Namespace) else (each.spec, each.priority_classes)


def concerned(each: Pod | Namespace | ElasticQuota, settled: Settled) -> Iterable[str] | None:
    """Return the quota of a pod; changes of quotas or namespaces concern all quotas."""
    if not isinstance(each, Pod):
        return None
    quota = settled.summary.quota_of(Cohort.of(each))
    return (quota.key,) if quota else ()


def status_of(
    quota: StoredElasticQuota, pods: Callable[[str], Collection[Pod]], table: QuotaTable, now: datetime
) -> dict[str, Any]:
    """Return the status fields that the controller owns; `pods` are read by namespace."""
    bounds, generation = read_quota(quota), quota.metadata.generation
    ledger = QuotaLedger()
    ledger.settle(table)
    for namespace in table.in_force.get(bounds.key, ()):
        for pod in pods(namespace):
            ledger.place(pod)
    used = ledger.used(bounds)
    state = {CONFLICT: _conflict(bounds, table), VALID: _valid(bounds)}
    return {
        "used": {name: quantity_text(name, used.get(name, 0)) for name in sorted(bounds.named)},
        "observedGeneration": generation,
        "conditions": conditions(quota.status.conditions, state, generation, now),
    }


def status_events(quota: StoredElasticQuota, status: Mapping[str, Any]) -> list[StatusEvent]:
    """Return the events for a change to this status."""
    return turns(quota.status.conditions, status, GOOD)


def _conflict(bounds: Quota, table: QuotaTable) -> ConditionState:
    lost = table.contests.get(bounds.key, ())
    if not lost:
        return ConditionState(False, "NoConflict", f"it applies to {_served(bounds, table)}")
    winners = "; ".join(f"{_claimed(each.claimed)} covered by the older quota {each.winner}" for each in lost)
    other = "other namespaces" if bounds.priority_classes is None else "other namespaces or name other classes"
    return ConditionState(True, "OlderQuota", f"{winners}: delete one of them, or let it select {other}")


def _served(bounds: Quota, table: QuotaTable) -> str:
    namespaces = ", ".join(sorted(table.in_force.get(bounds.key, ())))
    if bounds.priority_classes is None:
        return namespaces
    return f"pods of {', '.join(bounds.priority_classes)} in {namespaces}" if namespaces else "no pods"


def _claimed(pods: Cohort) -> str:
    where = f"namespace {pods.namespace}"
    return f"pods of {pods.priority_class} in {where} are" if pods.priority_class else f"{where} is"


def _valid(bounds: Quota) -> ConditionState:
    if bounds.faults:
        return ConditionState(False, "NotReadable", f"it is ignored: {'; '.join(bounds.faults)}")
    if excess := bounds.contradictions():
        return ConditionState(False, "MinAboveMax", f"{told(excess, 'in min', 'in max')}; max applies")
    return ConditionState(True, "BoundsAreValid", "min is not greater than max for any resource")
