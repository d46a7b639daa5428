"""The desired status of an AppGroup: the number of its running pods, and the order of its workloads."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct, to_builtins

from pilotage.kinds.app_network import AppGroup, AppGroupStatus, AppWorkload
from pilotage.model.pod import Pod
from pilotage.plugins.network._shared.app_groups import app_group_of
from pilotage.plugins.network._shared.topology_order import Complaint, topology_order
from pilotage_operator.controllers.conditions import ConditionState, StoredCondition, conditions, turns
from pilotage_operator.controllers.outcome import StatusEvent
from pilotage_operator.profiles.world import written

ACCEPTED = "Accepted"
SORTED = "Sorted"
MOST_COMPLAINTS = 5  # in one message
REQUIRED = frozenset({"kind", "name", "selector"})


class StoredAppGroupStatus(AppGroupStatus, frozen=True, rename="camel"):
    """The stored status of an AppGroup."""

    topology_calculation_time: str = ""
    conditions: tuple[StoredCondition, ...] = ()


class StoredAppGroup(AppGroup, rename="camel"):
    """An AppGroup with its complete status."""

    status: StoredAppGroupStatus = StoredAppGroupStatus()


class _Entry(Struct, frozen=True, rename="camel"):
    workload: AppWorkload
    index: int


def facts(each: Pod | AppGroup) -> Any:
    """Return the relevant part of an object: the AppGroup of a pod; for other AppGroups, only their existence."""
    return (app_group_of(each), _runs(each)) if isinstance(each, Pod) else None


def homes(groups: Iterable[AppGroup]) -> dict[str, set[str]]:
    """Return the namespaces with an AppGroup of a name."""
    found: dict[str, set[str]] = {}
    for group in groups:
        found.setdefault(group.metadata.name, set()).add(group.metadata.namespace)
    return found


def concerned(each: Pod | AppGroup, known: Mapping[str, set[str]]) -> list[str]:
    """Return the AppGroups of a name: pods of any namespace may belong to one."""
    name = app_group_of(each) if isinstance(each, Pod) else each.metadata.name
    return [f"{namespace}/{name}" for namespace in known.get(name, ())]


def own(group: AppGroup, pods: Iterable[Pod], known: Mapping[str, set[str]]) -> Iterator[Pod]:
    """Return the pods whose own namespace has no AppGroup of that name."""
    elsewhere = known.get(group.metadata.name, set()) - {group.metadata.namespace}
    return (pod for pod in pods if pod.namespace not in elsewhere)


def status_of(group: StoredAppGroup, pods: Iterable[Pod], now: datetime) -> dict[str, Any]:
    """Return the status fields that the controller owns; `pods` may be of all namespaces."""
    past, order = group.status, topology_order(group.spec)
    entries = [_Entry(workload, index) for index, workload in enumerate(order.workloads, 1)]
    entries.sort(key=lambda entry: entry.workload.selector)  # sorted for readers that use binary search
    known = [(entry.workload, entry.index) for entry in past.topology_order]
    is_known = known == [(entry.workload, entry.index) for entry in entries]
    generation = group.metadata.generation
    return {
        "runningWorkloads": sum(_runs_for(group, pod) for pod in pods),
        "topologyOrder": [_written_out(entry) for entry in entries],
        "topologyCalculationTime": (past.topology_calculation_time if is_known else "") or written(now),
        "observedGeneration": generation,
        "conditions": conditions(past.conditions, {ACCEPTED: _accepted(order.complaints)}, generation, now),
    }


def status_events(group: StoredAppGroup, status: Mapping[str, Any]) -> list[StatusEvent]:
    """Return the events for a change to this status."""
    return turns(group.status.conditions, status, {ACCEPTED: True})


def _runs_for(group: AppGroup, pod: Pod) -> bool:
    return app_group_of(pod) == group.metadata.name and _runs(pod)


def _runs(pod: Pod) -> bool:
    return pod.status.phase == "Running"


def _written_out(entry: _Entry) -> dict[str, Any]:
    workload = {name: value for name, value in to_builtins(entry.workload).items() if value or name in REQUIRED}
    return {"workload": workload, "index": entry.index}


def _accepted(complaints: Sequence[Complaint]) -> ConditionState:
    if not complaints:
        return ConditionState(True, SORTED, "every workload is in the topology order")
    told = "; ".join(complaint.message for complaint in complaints[:MOST_COMPLAINTS])
    more = len(complaints) - MOST_COMPLAINTS
    return ConditionState(False, complaints[0].reason, f"{told}; and {more} more" if more > 0 else told)
