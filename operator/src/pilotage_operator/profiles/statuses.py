"""The statuses of profiles after a round, and which of them must be written before its actions."""

from collections.abc import Iterator, Mapping
from typing import Any

from pilotage.scheduler_profiles.resource import GoodSpec
from pilotage.scheduler_profiles.schema_parts import Part
from pilotage_operator.profiles.actions import Action, PatchStatus, difference
from pilotage_operator.profiles.case import Case
from pilotage_operator.profiles.conditions import Facts, conditions
from pilotage_operator.profiles.ownership import gives_up
from pilotage_operator.profiles.past import past_of
from pilotage_operator.profiles.profile_events import events
from pilotage_operator.profiles.rollout import Situation
from pilotage_operator.profiles.world import StoredProfile, World, written
from pilotage_operator.settings import Settings


def acknowledge(cases: list[Case], after: Situation, world: World) -> None:
    """Record the last spec that all replicas ran: the served one, if its profile is ready."""
    for case in cases:
        case.acknowledged, chosen = case.past.last_acknowledged, case.chosen
        answers = conditions(_facts(case, after, world))
        if chosen is not None and any(each.type == "Ready" and each.status == "True" for each in answers):
            case.acknowledged = GoodSpec(generation=chosen.generation, spec_hash=chosen.hash, spec=dict(chosen.spec))


def _facts(case: Case, after: Situation, world: World) -> Facts:
    seen = (case.complaints, case.chosen, case.is_new, after, world.kube_scheduler)
    return Facts(case.stored.metadata.generation, case.hash, case.past, *seen)


def statuses(
    cases: list[Case], after: Situation, world: World, settings: Settings, *, writes: bool
) -> tuple[list[Action], list[Action], list[Action]]:
    """Return the statuses to write before the configuration, those to write after it, and events."""
    urgent: list[Action] = []
    changes: list[Action] = list(_given_up(world, settings))
    story: list[Action] = []
    for case in cases:
        status = _status(case, after, world, settings, writes=writes)
        if patch := difference(case.stored.status, status):
            is_on_trial = case.is_new or case.ran is None or "failed" in patch
            is_urgent = is_on_trial or case.past.instance != settings.instance
            (urgent if is_urgent else changes).append(_patch(case.stored, patch))
            story += events(case.stored, case.past, status)
    return urgent, changes, story


def _given_up(world: World, settings: Settings) -> Iterator[Action]:
    for stored in world.profiles:
        if gives_up(stored, past_of(stored.status), settings):
            yield _patch(stored, {"instance": None})


def _patch(stored: StoredProfile, status: Mapping[str, Any]) -> PatchStatus:
    version = {"resourceVersion": stored.metadata.resource_version}
    return PatchStatus(stored.name, {"metadata": version, "status": dict(status)})


def _status(case: Case, after: Situation, world: World, settings: Settings, *, writes: bool) -> dict[str, Any]:
    metadata, chosen, facts = case.stored.metadata, case.chosen, _facts(case, after, world)
    verdict = chosen.verdict if chosen else None
    starts = case.is_new and writes
    status = {
        "observedGeneration": metadata.generation,
        "instance": settings.instance,
        "schedulerName": (verdict or case.verdict).scheduler_name,
        "conditions": [_dumped(each) for each in conditions(facts)],
        "configHash": after.hash,
        "replicas": facts.replicas,
        "pluginCount": len(verdict.plugins) if verdict else None,
        "plugins": {point: list(names) for point, names in verdict.points.items()} if verdict else None,
        "pluginFiles": {file.path: file.hash for file in chosen.files} or None if chosen else None,
        "appliedAt": (written(world.now) if starts else case.past.applied_at or None) if chosen else None,
        "lastAcknowledged": _dumped(case.acknowledged),
        "lastGood": _dumped(case.past.last_good),
        "failed": _dumped(case.past.failed),
        "nodes": case.past.nodes if verdict and verdict.spec.nodes else None,  # counted by the node keeper
    }
    return {key: value for key, value in status.items() if value is not None}


def _dumped(part: Part | None) -> dict[str, Any] | None:
    return None if part is None else part.model_dump(mode="json", by_alias=True)
