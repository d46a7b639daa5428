"""Whether the schedulers of a cluster are well: releases, replicas, profiles, and what is wrong with them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pilotage.cluster.kubectl.replicas import Manifest, Replica, condition

# A profile is not well while one of these says so; of the last two it runs nevertheless.
FAULTS = (("Accepted", "False"), ("RolledBack", "True"), ("Ready", "False"))
WARNINGS = (("Warning", "True"), ("Contended", "True"))
# What becomes better by itself.
ON_THE_WAY = "Waiting"


def health(profiles: Sequence[Manifest], found: Sequence[Replica]) -> dict[str, Any]:
    """Return all releases and profiles, and as alarms what is wrong with each."""
    told = [_profile(each) for each in profiles]
    releases = _releases(found)
    alarms = [*_of_releases(releases), *(alarm for each in profiles for alarm in _of_profile(each))]
    is_well = not any(alarm["severity"] == "fault" for alarm in alarms)
    return {"kind": "Health", "well": is_well, "releases": releases, "profiles": told, "alarms": alarms}


def is_lost(profiles: Iterable[Manifest]) -> bool:
    """Return whether a profile was rejected or rolled back, so that waiting longer does not help."""
    return any(_is_current(each) and _is_lost(condition(each, "Ready")) for each in profiles)


def _is_lost(ready: Manifest) -> bool:
    return ready.get("status") == "False" and ready.get("reason") != ON_THE_WAY


def _profile(profile: Manifest) -> dict[str, Any]:
    metadata, status = profile["metadata"], profile.get("status") or {}
    ready = condition(profile, "Ready")
    is_current = _is_current(profile)
    return {
        "name": metadata["name"],
        "schedulerName": status.get("schedulerName") or metadata["name"],
        "instance": status.get("instance", ""),
        "generation": metadata.get("generation", 0),
        "ready": is_current and ready.get("status") == "True",
        "reason": str(ready.get("reason", "")) if is_current else "NotObserved",
        "replicas": status.get("replicas", ""),
        "plugins": status.get("pluginCount", 0),
        "configHash": status.get("configHash", ""),
        "lastGoodGeneration": (status.get("lastGood") or {}).get("generation"),
    }


def _is_current(profile: Manifest) -> bool:
    status = profile.get("status") or {}
    return bool(status.get("observedGeneration") == profile["metadata"].get("generation"))


def _releases(found: Sequence[Replica]) -> list[dict[str, Any]]:
    by_release: dict[tuple[str, str], list[Replica]] = {}
    for each in found:
        by_release.setdefault((each.namespace, each.release), []).append(each)
    return [_release(*named, own) for named, own in sorted(by_release.items())]


def _release(namespace: str, name: str, own: Sequence[Replica]) -> dict[str, Any]:
    return {
        "namespace": namespace,
        "name": name,
        "leader": next((each.name for each in own if each.leads), None),
        "replicas": [
            {"name": each.name, "ready": each.ready, "leads": each.leads, "configHash": each.hash}
            | {"trouble": each.trouble}
            for each in sorted(own, key=lambda each: each.name)
        ],
    }


def _of_releases(releases: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, str]]:
    for release in releases:
        about = f"{release['namespace']}/{release['name']}"
        if release["leader"] is None:
            look = f"kubectl get leases,pods -n {release['namespace']}"
            yield _alarm(about, "fault", "no replica is known to lead", look)
        for each in release["replicas"]:
            place = f"-n {release['namespace']} {each['name']}"
            if not each["ready"]:
                yield _alarm(about, "fault", f"{each['name']} is not ready", f"kubectl describe pod {place}")
            if each["trouble"]:
                yield _alarm(about, "fault", f"{each['name']}: {each['trouble']}", f"kubectl logs {place}")


def _of_profile(profile: Manifest) -> Iterator[dict[str, str]]:
    name = profile["metadata"]["name"]
    look = f"kubectl describe schedulerprofile {name}"
    if not _is_current(profile):
        yield _alarm(name, "fault", "the operator has not looked at its spec yet", "kubectl pilotage doctor")
        return
    for kinds, severity in ((FAULTS, "fault"), (WARNINGS, "warning")):
        for kind, bad in kinds:
            found = condition(profile, kind)
            if found.get("status") == bad:
                yield _alarm(name, severity, f"{found.get('reason', kind)}: {found.get('message', '')}", look)
                break  # what follows from it says the same again


def _alarm(about: str, severity: str, text: str, look: str) -> dict[str, str]:
    return {"about": about, "severity": severity, "text": " ".join(text.split()), "do": look}
