"""What happened to a SchedulerProfile or a pod, from its conditions, managed fields and events."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pilotage.cluster.kubectl.replicas import Manifest, condition

STORY = ("Accepted", "Applied", "Ready", "RolledBack", "Warning", "Contended")


def profile_history(profile: Manifest, events: Iterable[Manifest] = ()) -> list[dict[str, Any]]:
    """Return who changed a profile and with which result, the oldest first."""
    return _sorted([*_writers(profile), *_conditions(profile), *_last_good(profile), *_events(events)])


def pod_history(pod: Manifest, events: Iterable[Manifest] = ()) -> list[dict[str, Any]]:
    """Return what schedulers said about a pod, the oldest first."""
    metadata = pod["metadata"]
    conditions = (pod.get("status") or {}).get("conditions") or ()
    told = [
        _entry(each.get("lastTransitionTime"), _scheduler(pod), str(each.get("reason") or "Scheduled"), each)
        for each in conditions
        if each.get("type") == "PodScheduled"
    ]
    created = {"at": metadata.get("creationTimestamp"), "who": _owner(pod), "what": "Created", "why": "", "count": 1}
    told_by_events = list(_events(events))
    return _sorted([created, *([] if told_by_events else told), *told_by_events])


def attempts_history(attempts: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the attempts that a scheduler remembers, the oldest first."""
    return _sorted(
        [
            {
                "at": each.get("at"),
                "who": f"attempt {each.get('n', '?')}",
                "what": each.get("outcome", ""),
                "why": each.get("message") or (f"on {each['node']}" if each.get("node") else ""),
                "count": 1,
            }
            for each in attempts
        ]
    )


def _sorted(entries: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted((each for each in entries if each["at"]), key=lambda each: str(each["at"])[:19])


def _entry(at: Any, who: str, what: str, told: Mapping[str, Any]) -> dict[str, Any]:
    return {"at": at, "who": who, "what": what, "why": " ".join(str(told.get("message", "")).split()), "count": 1}


def _writers(profile: Manifest) -> Iterator[dict[str, Any]]:
    """Yield the last edit of each writer of the spec, which is all that the API server keeps."""
    for each in profile["metadata"].get("managedFields") or ():
        if each.get("subresource") == "status" or "f:spec" not in (each.get("fieldsV1") or {}):
            continue
        yield {
            "at": each.get("time"),
            "who": str(each.get("manager", "")),
            "what": f"Spec{each.get('operation', 'Update')}",
            "why": "",
            "count": 1,
        }


def _conditions(profile: Manifest) -> Iterator[dict[str, Any]]:
    status = profile.get("status") or {}
    for each in status.get("conditions") or ():
        is_news = each.get("status") == "True" or each.get("type") in ("Accepted", "Applied", "Ready")
        if each.get("type") in STORY and is_news:
            yield _entry(each.get("lastTransitionTime"), "operator", f"{each['type']}={each['status']}", each)


def _last_good(profile: Manifest) -> Iterator[dict[str, Any]]:
    status = profile.get("status") or {}
    failed = status.get("failed")
    rolled_back = condition(profile, "RolledBack")
    if failed and rolled_back.get("status") != "True":
        yield _entry(rolled_back.get("lastTransitionTime"), "operator", str(failed.get("reason", "Failed")), failed)


def _events(events: Iterable[Manifest]) -> Iterator[dict[str, Any]]:
    for each in events:
        series = each.get("series") or {}
        at = series.get("lastObservedTime") or each.get("lastTimestamp") or each.get("eventTime")
        who = each.get("reportingComponent") or (each.get("source") or {}).get("component") or ""
        count = series.get("count") or each.get("count") or 1
        told = {"message": each.get("message") or each.get("note") or ""}
        yield _entry(at or each["metadata"].get("creationTimestamp"), who, str(each.get("reason", "")), told) | {
            "count": count
        }


def _scheduler(pod: Manifest) -> str:
    return str((pod.get("spec") or {}).get("schedulerName") or "default-scheduler")


def _owner(pod: Manifest) -> str:
    owners = pod["metadata"].get("ownerReferences") or ()
    return next((f"{each['kind']}/{each['name']}" for each in owners if each.get("controller")), "")
