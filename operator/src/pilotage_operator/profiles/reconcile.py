"""Reconciles SchedulerProfiles: computes actions from the current state, from scratch each time.

It has no side effects. Whatever happens between two rounds, the next one starts from the current state.
"""

from collections.abc import Iterator, Mapping
from datetime import timedelta

from pilotage.config.handshake import (
    HASH,
    HOT_RELOAD,
    RESTART,
    SERVED,
    STRATEGY,
    UNITS,
    WRITTEN_AT,
    FilesByProfile,
    unit_data,
    unit_hash,
)
from pilotage.scheduler_profiles.choosing import Applicant, Candidate, Choice, choose
from pilotage.scheduler_profiles.hashes import spec_hash
from pilotage.scheduler_profiles.judge import Verdict
from pilotage.scheduler_profiles.render import configuration, joined_extenders
from pilotage.scheduler_profiles.resource import GoodSpec
from pilotage_operator.profiles import config_map
from pilotage_operator.profiles.actions import Action, StampDeployment, WakeUp
from pilotage_operator.profiles.case import Case
from pilotage_operator.profiles.kept import keep
from pilotage_operator.profiles.other_releases import served_elsewhere, taken_from
from pilotage_operator.profiles.ownership import age, serves
from pilotage_operator.profiles.past import Past, ServedSpec, past_of, served_in, served_text
from pilotage_operator.profiles.plugin_library import Library
from pilotage_operator.profiles.plugin_sources import about_files, hash_of, plugin_files, where_plugins_were
from pilotage_operator.profiles.rights import MISSING_CRD, MISSING_PERMISSION, missing, needed
from pilotage_operator.profiles.rollout import (
    OnTrial,
    Situation,
    Trial,
    after_trial,
    blamed_for_refusal,
    next_moments,
)
from pilotage_operator.profiles.statuses import acknowledge, statuses
from pilotage_operator.profiles.unit_judge import UnitJudge
from pilotage_operator.profiles.units import Unit, units_in
from pilotage_operator.profiles.world import (
    Right,
    World,
    moment,
    written,
)
from pilotage_operator.sandbox.records import recorded
from pilotage_operator.settings import Settings

# Granting a permission or installing a CRD triggers no event.
ASK_AGAIN_AFTER = timedelta(seconds=5)


def rights_needed(world: World, settings: Settings, judge: UnitJudge) -> frozenset[Right]:
    """Return the permissions to check before the reconciliation."""
    ours = (profile for profile in world.profiles if serves(profile, past_of(profile.status), settings))
    library = judge.library(plugin_files(world))
    return needed(judge.judge(each.name, each.spec, library.files_for(each.spec)) for each in ours)


def reconcile(world: World, settings: Settings, judge: UnitJudge) -> list[Action]:
    """Return the actions in order; after their execution, nothing is left to do."""
    before, library = _situation(world), judge.library(plugin_files(world))
    cases = _judged(world, settings, judge, library)  # 1. judge: can each spec run with the given permissions
    _supervise(cases, before, judge)  # 2. supervise: has the running spec worked so far
    choice = _chosen(cases, before, judge)  # 3. choose the spec to serve
    text, files = _rendered(choice, settings)  # 4. render
    after = _planned(world, before, cases, unit_hash(unit_data(text, files)))  # 5. apply: bring it to the replicas
    acknowledge(cases, after, world)  # 6. status: which replicas acknowledged it
    urgent, changes, rest = statuses(cases, after, world, settings, writes=_may_write(world, settings))
    units = {case.name: _kept_units(case, library) for case in cases}
    data = config_map.content(text, files, _served(cases), units)
    return [
        *keep(world, settings),
        *urgent,  # a trial's start is recorded before it starts, and its failure before the rollback
        *_writes(world, settings, after, data),
        *changes,
        *rest,
        *about_files(world, library),
        *_wake_up(cases, after),
    ]


# ------------------------------------------------------------------------------------------------ 1. judge


def _judged(world: World, settings: Settings, judge: UnitJudge, library: Library) -> list[Case]:
    data, elsewhere = _known_data(world), served_elsewhere(world.profiles, settings)
    units = units_in(data.get(UNITS, ""), data)
    running = served_in(data.get(SERVED, ""), units)
    cases = []
    for stored in sorted(world.profiles, key=age):
        past = past_of(stored.status)
        if not serves(stored, past, settings):
            continue
        files, ran = library.files_for(stored.spec), running.get(stored.name)
        verdict = judge.judge(stored.name, stored.spec, files)
        mine = ran if ran is not None and ran.uid == stored.metadata.uid else None
        kept = units.get(stored.name, {})
        case = Case(stored, past, hash_of(stored.spec, files), verdict, mine, files, kept)
        case.complaints += library.explained(verdict.complaints, where_plugins_were(kept))
        case.complaints += missing(verdict, world.rights, settings.scheduler_user, judge.plain.has_built_in)
        case.taken = taken_from(stored, elsewhere)
        case.complaints += [case.taken[name] for name in (verdict.scheduler_name,) if name in case.taken]
        cases.append(case)
    return cases


def _known_data(world: World) -> Mapping[str, str]:
    """Return the data of the ConfigMap; if it is not intact, the last intact data."""
    found = world.config_map.data if world.config_map else {}
    return found if config_map.is_intact(world.config_map) else world.remembered or found


# -------------------------------------------------------------------------------------------- 2. supervise


def _situation(world: World) -> Situation:
    """Return the configuration in the ConfigMap, and its rollout."""
    said = world.config_map.metadata.annotations if world.config_map else {}
    strategy = RESTART if said.get(STRATEGY) == RESTART else HOT_RELOAD
    written_at = moment(said.get(WRITTEN_AT))
    return Situation(said.get(HASH, ""), strategy, written_at, world.replicas, world.deployment, world.now)


def _supervise(cases: list[Case], at: Situation, judge: UnitJudge) -> None:
    if not at.hash:
        return
    running = {case.name: _verdict_on(case.ran, case, judge) for case in cases if case.ran}
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
            trial = Trial(case.ran, verdict.scheduler_name, deadline, is_blamed, _had_files(case))
            case.past = after_trial(case.past, trial, at)


def _verdict_on(spec: ServedSpec, case: Case, judge: UnitJudge) -> Verdict:
    unit = case.units.get(spec.hash)
    return judge.judge(case.name, spec.spec, spec.files, unit.verdict if unit else None)


def _had_files(case: Case) -> bool:
    """Return whether a rollback target has plugin files, which may have blocked a replica."""
    return any(good is not None and good.spec_hash in case.units for good in _rollback_targets(case.past))


def _rollback_targets(past: Past) -> tuple[GoodSpec | None, ...]:
    return past.last_acknowledged, past.last_good


# ----------------------------------------------------------------------------------------------- 3. choose


def _chosen(cases: list[Case], at: Situation, judge: UnitJudge) -> Choice:
    choice = choose([Applicant(case.name, tuple(_candidates(case, at, judge))) for case in cases], judge.plain)
    for case in cases:
        case.chosen = choice.served.get(case.name)
        if complaint := choice.refused.get(case.name):
            case.complaints.append(complaint)
    return choice


def _candidates(case: Case, at: Situation, judge: UnitJudge) -> Iterator[Candidate]:
    """Yield the current spec, then earlier ones, if they can run and have not failed."""
    generation, running = case.stored.metadata.generation, case.ran.hash if case.ran else None
    seen = set()
    if not case.complaints and not case.past.has_failed(case.hash):
        yield Candidate(
            case.hash, generation, case.stored.spec or {}, case.verdict, True, running == case.hash, case.files
        )
        seen.add(case.hash)
    for spec in _earlier(case, at):
        verdict = _verdict_on(spec, case, judge)
        if verdict.scheduler_name in case.taken:
            continue
        if spec.hash not in seen and verdict.can_run and not case.past.has_failed(spec.hash):
            yield Candidate(spec.hash, spec.generation, spec.spec, verdict, False, spec.hash == running, spec.files)
            seen.add(spec.hash)


def _earlier(case: Case, at: Situation) -> Iterator[ServedSpec]:
    """Yield the running spec, the last acknowledged one, and the last good one, except if they blocked a replica."""
    if case.ran:
        yield case.ran
    stalled = at.stalled(case.verdict.scheduler_name)
    fell_silent_before = stalled is not None and stalled.hash != at.hash
    for good in _rollback_targets(case.past):
        if good is None:
            continue
        files = case.units[good.spec_hash].files if good.spec_hash in case.units else ()
        is_whole = good.spec_hash == spec_hash(good.spec, files)
        if is_whole and not (files and fell_silent_before):
            yield ServedSpec(case.stored.metadata.uid, good.generation, good.spec_hash, good.spec, files)


# ----------------------------------------------------------------------------------------------- 4. render


def _rendered(choice: Choice, settings: Settings) -> tuple[str, FilesByProfile]:
    """Return the configuration, and the plugin files of its profiles."""
    verdicts = sorted((each.verdict for each in choice.served.values()), key=lambda verdict: verdict.scheduler_name)
    extenders = joined_extenders(verdict.extenders for verdict in verdicts)
    text = configuration((verdict.profile for verdict in verdicts), extenders, f"idle.{settings.fullname}")
    return text, {each.verdict.scheduler_name: each.files for each in choice.served.values()}


def _served(cases: list[Case]) -> str:
    return served_text({case.name: _record(case, case.chosen) for case in cases if case.chosen})


def _kept_units(case: Case, library: Library) -> dict[str, Unit]:
    """Return the specs with plugin files to keep: the running one, and all rollback targets."""
    units = dict(case.units)
    wanted = {good.spec_hash for good in (case.acknowledged, case.past.last_good) if good is not None}
    if case.chosen is not None and case.chosen.files:
        new = Unit(case.chosen.files, library.plugins_in(case.chosen.files), recorded(case.chosen.verdict))
        units.setdefault(case.chosen.hash, new)
        wanted.add(case.chosen.hash)
    return {hash_: unit for hash_, unit in units.items() if hash_ in wanted}


def _record(case: Case, chosen: Candidate) -> ServedSpec:
    if case.ran is not None and case.ran.hash == chosen.hash:
        return case.ran
    return ServedSpec(case.stored.metadata.uid, chosen.generation, chosen.hash, chosen.spec, chosen.files)


# ------------------------------------------------------------------------------------------------ 5. apply


def _planned(world: World, before: Situation, cases: list[Case], new_hash: str) -> Situation:
    """Return the desired configuration of the ConfigMap."""
    if new_hash == before.hash and world.config_map is not None:
        return before
    strategy = RESTART if _wants_restart(world, before, cases) else HOT_RELOAD
    return Situation(new_hash, strategy, moment(written(world.now)), world.replicas, world.deployment, world.now)


def _wants_restart(world: World, before: Situation, cases: list[Case]) -> bool:
    if world.config_map is None:
        return False  # there are no pods to restart
    if before.strategy == RESTART and before.lagging:
        return True  # the previous change, which is part of this one, has not been acknowledged
    return any(case.is_new and _restarts(case) for case in cases)


def _restarts(case: Case) -> bool:
    """Return whether a change, or its rollback, needs new pods."""
    wanted = case.chosen.verdict.spec if case.chosen else None
    if case.chosen is not None and not case.chosen.is_wish:
        wanted = case.verdict.spec
    return wanted is not None and wanted.rollout.strategy == RESTART


def _may_write(world: World, settings: Settings) -> bool:
    """Return whether the configuration has an owner; a release that is being uninstalled gets no new ConfigMap."""
    found = world.deployment
    return not settings.scheduler_deployment or (found is not None and not found.metadata.deletion_timestamp)


def _writes(world: World, settings: Settings, after: Situation, data: Mapping[str, str]) -> Iterator[Action]:
    if not _may_write(world, settings):
        return
    said = config_map.annotations(data, after.strategy, written(after.written_at))
    if found := config_map.change(settings, world.config_map, world.deployment, data, said):
        yield found
    if after.needs_new_pods and world.deployment is not None and world.deployment.stamp != after.hash:
        yield StampDeployment(after.hash)


# ------------------------------------------------------------------------------------------- the next round


def _wake_up(cases: list[Case], after: Situation) -> Iterator[Action]:
    moments = []
    for case in cases:
        if case.chosen:
            deadline = timedelta(seconds=case.chosen.verdict.spec.rollout.progress_deadline_seconds)
            moments += next_moments(case.past, case.past.ran_well(case.chosen.hash), deadline, after)
        if any(complaint.reason in (MISSING_PERMISSION, MISSING_CRD) for complaint in case.complaints):
            moments.append(after.now + ASK_AGAIN_AFTER)
    if moments:
        yield WakeUp(min(moments))
