"""Profiles: what runs, what is wanted, and the differences between two specs."""

from collections.abc import Mapping
from dataclasses import fields
from itertools import islice
from typing import Any

from pilotage.config.handshake import Report
from pilotage.framework.api.plugin import Plugin
from pilotage.framework.runtime.plugin_set import PluginSet
from pilotage.model.redaction import redacted
from pilotage.scheduling.engine import Engine
from pilotage.views.answers import (
    Difference,
    PluginOfProfile,
    Profile,
    ProfileDiff,
    ProfileReplica,
    Profiles,
    ProfileView,
)
from pilotage.views.objects.differences import differences
from pilotage.views.paging import InvalidQuestion
from pilotage.views.state import Stamp, State, Steps

Manifest = Mapping[str, Any]  # a SchedulerProfile, as the API server has it
Reports = Mapping[str, Report]  # of the replicas, by pod

SPEC, LAST_GOOD = "spec", "lastGood"
MOST_DIFFERENCES = 500


def profiles(state: State, stamp: Stamp, resources: Mapping[str, Manifest], reports: Reports) -> Steps[Profiles]:
    """Return all profiles in service with their resources and replicas, by scheduler name."""
    items = []
    for name, engine in list(state.engines.items()):
        items.append(_view(state, name, engine, resources.get(name), reports))
        yield
    return Profiles(at=stamp.at, revision=stamp.revision, source=stamp.source, items=items)


def profile(state: State, stamp: Stamp, name: str, resource: Manifest | None, reports: Reports) -> Profile | None:
    """Return one profile; None if it neither runs nor has a resource."""
    engine = state.engines.get(name)
    if engine is None and resource is None:
        return None
    shown = _view(state, name, engine, resource, reports)
    return Profile(at=stamp.at, revision=stamp.revision, source=stamp.source, profile=shown)


def _view(state: State, name: str, engine: Engine | None, resource: Manifest | None, reports: Reports) -> ProfileView:
    status = dict((resource or {}).get("status") or {})
    conditions = redacted(list(status.get("conditions") or ()))
    ready = next((each for each in conditions if each.get("type") == "Ready"), None)
    return ProfileView(
        name=name,
        ready=engine is not None if ready is None else ready.get("status") == "True",
        reason="" if ready is None else str(ready.get("reason", "")),
        hash=state.log.hash,
        plugins=[] if engine is None else _plugins(engine.runner.plugin_set),
        conditions=conditions,
        generation=_number((resource or {}).get("metadata"), "generation"),
        acknowledged=_number(status.get("lastAcknowledged"), "generation"),
        replicas=[
            _replica(replica, report, name, str(status.get("configHash") or state.log.hash))
            for replica, report in sorted(reports.items())
        ],
    )


def _number(part: Any, name: str) -> int:
    found = part.get(name) if isinstance(part, dict) else 0
    return found if isinstance(found, int) else 0


def _replica(name: str, report: Report, profile: str, wanted: str) -> ProfileReplica:
    trouble = report.trouble
    is_about_it = trouble is not None and trouble.scheduler_name in ("", profile)
    return ProfileReplica(
        name=name,
        hash=report.hash,
        is_current=bool(report.hash) and report.hash == wanted,
        trouble=f"{trouble.kind}: {trouble.message}" if trouble is not None and is_about_it else "",
    )


def _plugins(plugin_set: PluginSet) -> list[PluginOfProfile]:
    points: dict[str, list[str]] = {}
    for point in fields(PluginSet):
        if point.name != "weights":
            for plugin in getattr(plugin_set, point.name):
                points.setdefault(plugin.name, []).append(_camel(point.name))
    return [
        PluginOfProfile(
            name=name,
            points=points[name],
            weight=plugin_set.weights.get(name, 0) if "score" in points[name] else 0,
            args=_arguments(plugin),
            origin="pilotage" if type(plugin).__module__.startswith("pilotage.") else type(plugin).__module__,
        )
        for name, plugin in plugin_set.plugins().items()
    ]


def _arguments(plugin: Plugin) -> dict[str, Any]:
    """Return the arguments of a plugin, without credentials."""
    args = getattr(plugin, "args", None)
    if args is None:
        return {}
    found: dict[str, Any] = redacted(args.model_dump(mode="json", by_alias=True, exclude_none=True))
    return found


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.title() for part in rest)


# ---------------------------------------------------------------------------------------------------------- comparing


def profile_diff(stamp: Stamp, name: str, resource: Manifest, from_: str, to: str) -> ProfileDiff:
    """Return the differences between two specs of a profile."""
    before, after = (_part(resource, which) for which in (from_ or LAST_GOOD, to or SPEC))
    found = islice(differences(redacted(before[0]), redacted(after[0])), MOST_DIFFERENCES)
    return ProfileDiff(
        at=stamp.at,
        revision=stamp.revision,
        source=stamp.source,
        name=name,
        from_hash=before[1],
        to_hash=after[1],
        differences=[Difference(path=each["path"], from_=each["from"], to=each["to"]) for each in found],
    )


def _part(resource: Manifest, which: str) -> tuple[dict[str, Any], str]:
    status = resource.get("status") or {}
    if which == SPEC:
        return dict(resource.get("spec") or {}), str(status.get("hash", ""))
    if which == LAST_GOOD:
        good = status.get("lastGood") or {}
        return dict(good.get("spec") or {}), str(good.get("hash", ""))
    raise InvalidQuestion(f"from, to: {which!r} is unknown; use {SPEC} or {LAST_GOOD}")
