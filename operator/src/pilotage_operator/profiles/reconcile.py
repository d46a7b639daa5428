"""From the world as it is to what has to be done: the whole way of a SchedulerProfile, decided anew each time.

Nothing here does anything. Whatever happens between two rounds, the next one starts from what is there.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from pilotage_operator.profiles import config_map
from pilotage_operator.profiles.actions import Action, PatchStatus, StampDeployment, WakeUp, difference
from pilotage_operator.profiles.choosing import Applicant, Candidate, Choice, choose
from pilotage_operator.profiles.conditions import Facts, conditions
from pilotage_operator.profiles.hashes import spec_hash, text_hash
from pilotage_operator.profiles.judge import Complaint, Judge, Verdict
from pilotage_operator.profiles.kept import keep
from pilotage_operator.profiles.other_releases import served_elsewhere, taken_from
from pilotage_operator.profiles.ownership import age, gives_up, serves
from pilotage_operator.profiles.past import Past, ServedSpec, past_of, served_in, served_text
from pilotage_operator.profiles.render import configuration, joined_extenders
from pilotage_operator.profiles.rights import MISSING_CRD, MISSING_PERMISSION, missing, needed
from pilotage_operator.profiles.rollout import (
    HOT_RELOAD,
    RESTART,
    OnTrial,
    Situation,
    after_trial,
    blamed_for_refusal,
    next_moments,
)
from pilotage_operator.profiles.story import events
from pilotage_operator.profiles.world import (
    HASH,
    SERVED,
    STRATEGY,
    WRITTEN_AT,
    Right,
    StoredProfile,
    World,
    moment,
    written,
)
from pilotage_operator.settings import Settings

# Nobody tells when a right is given or a CRD is installed.
ASK_AGAIN_AFTER = timedelta(seconds=5)


@dataclass
class _Case:
    """One profile of ours on its way through a round."""

    stored: StoredProfile
    past: Past
    hash: str
    verdict: Verdict
    ran: ServedSpec | None  # what the configuration has for it
    complaints: list[Complaint] = field(default_factory=list)
    taken: Mapping[str, Complaint] = field(default_factory=dict)  # names that other releases have
    chosen: Candidate | None = None

    @property
    def name(self) -> str:
        return self.stored.name

    @property
    def is_new(self) -> bool:
        """Tell whether what is served was not served before."""
        return self.chosen is not None and (self.ran is None or self.ran.hash != self.chosen.hash)


def rights_needed(world: World, settings: Settings, judge: Judge) -> frozenset[Right]:
    """Return what has to be asked before the world can be reconciled."""
    ours = (profile for profile in world.profiles if serves(profile, past_of(profile.status), settings))
    return needed(judge.judge(profile.name, profile.spec) for profile in ours)


def reconcile(world: World, settings: Settings, judge: Judge) -> list[Action]:
    """Return what to do now, in this order; after it has been done, there is nothing to do."""
    before = _situation(world)
    cases = _judged(world, settings, judge)  # 1. judge: can each spec run, and may its plugins do what they need
    _watch_over(cases, before, judge)  # 2. watch over: what has the spec that runs shown by now
    choice = _chosen(cases, judge)  # 3. which spec of each is served
    text, served = _rendered(cases, choice, settings)  # 4. render
    after = _planned(world, before, cases, text)  # 5. apply: how it reaches the replicas
    urgent, changes, rest = _statuses(cases, after, world, settings)  # 6. status: who acknowledged it
    return [
        *keep(world, settings),
        *urgent,  # a trial's start is on record before it starts, and its failure before the way back: once is enough
        *_writes(world, settings, after, text, served),
        *changes,
        *rest,
        *_wake_up(cases, after),
    ]


# ------------------------------------------------------------------------------------------------ 1. judge


def _judged(world: World, settings: Settings, judge: Judge) -> list[_Case]:
    running, elsewhere = served_in(_served_text(world)), served_elsewhere(world.profiles, settings)
    cases = []
    for stored in sorted(world.profiles, key=age):
        past = past_of(stored.status)
        if not serves(stored, past, settings):
            continue
        verdict, ran = judge.judge(stored.name, stored.spec), running.get(stored.name)
        mine = ran if ran is not None and ran.uid == stored.metadata.uid else None
        case = _Case(stored, past, _hash(stored.spec), verdict, mine, list(verdict.complaints))
        case.complaints += missing(verdict, world.rights, settings.scheduler_user)
        case.taken = taken_from(stored, elsewhere)
        case.complaints += [case.taken[name] for name in (verdict.scheduler_name,) if name in case.taken]
        cases.append(case)
    return cases


def _hash(spec: Any) -> str:
    try:
        return spec_hash(spec)
    except RecursionError:
        return ""


def _served_text(world: World) -> str:
    found = world.config_map.data.get(SERVED, "") if world.config_map else ""
    return found if config_map.is_intact(world.config_map) else world.remembered or found


# ------------------------------------------------------------------------------------------- 2. watch over


def _situation(world: World) -> Situation:
    """Return the configuration that the ConfigMap holds, and where it has got to."""
    said = world.config_map.metadata.annotations if world.config_map else {}
    strategy = RESTART if said.get(STRATEGY) == RESTART else HOT_RELOAD
    written_at = moment(said.get(WRITTEN_AT))
    return Situation(said.get(HASH, ""), strategy, written_at, world.replicas, world.deployment, world.now)


def _watch_over(cases: list[_Case], at: Situation, judge: Judge) -> None:
    if not at.hash:
        return
    running = {case.name: judge.judge(case.name, case.ran.spec) for case in cases if case.ran}
    on_trial = {
        case.name: OnTrial(running[case.name].scheduler_name, moment(case.past.applied_at))
        for case in cases
        if case.ran and not case.past.ran_well(case.ran.hash)
    }
    blamed = blamed_for_refusal(on_trial, at)
    for case in cases:
        if case.ran:
            verdict = running[case.name]
            deadline = timedelta(seconds=verdict.spec.rollout.progress_deadline_seconds)
            is_blamed = case.name in blamed
            case.past = after_trial(case.past, case.ran, verdict.scheduler_name, deadline, at, is_blamed)


# ----------------------------------------------------------------------------------------------- 3. choose


def _chosen(cases: list[_Case], judge: Judge) -> Choice:
    choice = choose([Applicant(case.name, tuple(_candidates(case, judge))) for case in cases], judge)
    for case in cases:
        case.chosen = choice.served.get(case.name)
        if complaint := choice.refused.get(case.name):
            case.complaints.append(complaint)
    return choice


def _candidates(case: _Case, judge: Judge) -> Iterator[Candidate]:
    """Yield what its author wants, then what runs, then what ran well; each only if it can run and has not failed."""
    generation, running = case.stored.metadata.generation, case.ran.hash if case.ran else None
    seen = set()
    if not case.complaints and not case.past.has_failed(case.hash):
        yield Candidate(case.hash, generation, case.stored.spec or {}, case.verdict, True, running == case.hash)
        seen.add(case.hash)
    earlier = [case.ran] if case.ran else []
    if good := case.past.last_good:
        earlier.append(ServedSpec(case.stored.metadata.uid, good.generation, good.spec_hash, good.spec))
    for spec in earlier:
        verdict = judge.judge(case.name, spec.spec)
        if verdict.scheduler_name in case.taken:
            continue
        if spec.hash not in seen and verdict.can_run and not case.past.has_failed(spec.hash):
            yield Candidate(spec.hash, spec.generation, spec.spec, verdict, False, spec.hash == running)
            seen.add(spec.hash)


# ----------------------------------------------------------------------------------------------- 4. render


def _rendered(cases: list[_Case], choice: Choice, settings: Settings) -> tuple[str, str]:
    verdicts = sorted((each.verdict for each in choice.served.values()), key=lambda verdict: verdict.scheduler_name)
    extenders = joined_extenders(verdict.extenders for verdict in verdicts)
    text = configuration((verdict.profile for verdict in verdicts), extenders, f"idle.{settings.fullname}")
    served = {case.name: _record(case, case.chosen) for case in cases if case.chosen}
    return text, served_text(served)


def _record(case: _Case, chosen: Candidate) -> ServedSpec:
    if case.ran is not None and case.ran.hash == chosen.hash:
        return case.ran
    return ServedSpec(case.stored.metadata.uid, chosen.generation, chosen.hash, chosen.spec)


# ------------------------------------------------------------------------------------------------ 5. apply


def _planned(world: World, before: Situation, cases: list[_Case], text: str) -> Situation:
    """Return the configuration that the ConfigMap is going to hold."""
    new_hash = text_hash(text)
    if new_hash == before.hash and world.config_map is not None:
        return before
    strategy = RESTART if _wants_restart(world, before, cases) else HOT_RELOAD
    return Situation(new_hash, strategy, moment(written(world.now)), world.replicas, world.deployment, world.now)


def _wants_restart(world: World, before: Situation, cases: list[_Case]) -> bool:
    if world.config_map is None:
        return False  # nobody runs anything that a restart could replace
    if before.strategy == RESTART and before.lagging:
        return True  # the one before has not arrived, and is a part of this one
    return any(case.is_new and _restarts(case) for case in cases)


def _restarts(case: _Case) -> bool:
    """Tell whether a change, or the way back from it, is one by new pods."""
    wanted = case.chosen.verdict.spec if case.chosen else None
    if case.chosen is not None and not case.chosen.is_wish:
        wanted = case.verdict.spec
    return wanted is not None and wanted.rollout.strategy == RESTART


def _may_write(world: World, settings: Settings) -> bool:
    """Tell whether the configuration has an owner; what is being uninstalled gets no new one."""
    found = world.deployment
    return not settings.scheduler_deployment or (found is not None and not found.metadata.deletion_timestamp)


def _writes(world: World, settings: Settings, after: Situation, text: str, served: str) -> Iterator[Action]:
    if not _may_write(world, settings):
        return
    data, annotations = config_map.content(text, served, after.strategy, written(after.written_at))
    if found := config_map.change(settings, world.config_map, world.deployment, data, annotations):
        yield found
    if after.needs_new_pods and world.deployment is not None and world.deployment.stamp != after.hash:
        yield StampDeployment(after.hash)


# ----------------------------------------------------------------------------------------------- 6. status


def _statuses(
    cases: list[_Case], after: Situation, world: World, settings: Settings
) -> tuple[list[Action], list[Action], list[Action]]:
    """Return the statuses that go before the configuration, those that follow it, and the events."""
    urgent: list[Action] = []
    changes: list[Action] = list(_given_up(world, settings))
    story: list[Action] = []
    for case in cases:
        status = _status(case, after, world, settings)
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


def _status(case: _Case, after: Situation, world: World, settings: Settings) -> dict[str, Any]:
    metadata, chosen = case.stored.metadata, case.chosen
    seen = (case.complaints, chosen, case.is_new, after, world.kube_scheduler)
    facts = Facts(metadata.generation, case.hash, case.past, *seen)
    verdict = chosen.verdict if chosen else None
    starts = case.is_new and _may_write(world, settings)
    status = {
        "observedGeneration": metadata.generation,
        "instance": settings.instance,
        "schedulerName": (verdict or case.verdict).scheduler_name,
        "conditions": [each.model_dump(mode="json", by_alias=True) for each in conditions(facts)],
        "configHash": after.hash,
        "replicas": facts.replicas,
        "pluginCount": len(verdict.plugins) if verdict else None,
        "plugins": {point: list(names) for point, names in verdict.points.items()} if verdict else None,
        "appliedAt": (written(world.now) if starts else case.past.applied_at or None) if chosen else None,
        "lastGood": case.past.last_good.model_dump(mode="json", by_alias=True) if case.past.last_good else None,
        "failed": case.past.failed.model_dump(mode="json", by_alias=True) if case.past.failed else None,
    }
    return {key: value for key, value in status.items() if value is not None}


def _wake_up(cases: list[_Case], after: Situation) -> Iterator[Action]:
    moments = []
    for case in cases:
        if case.chosen:
            deadline = timedelta(seconds=case.chosen.verdict.spec.rollout.progress_deadline_seconds)
            moments += next_moments(case.past, case.past.ran_well(case.chosen.hash), deadline, after)
        if any(complaint.reason in (MISSING_PERMISSION, MISSING_CRD) for complaint in case.complaints):
            moments.append(after.now + ASK_AGAIN_AFTER)
    if moments:
        yield WakeUp(min(moments))
