"""Checks a release until it is good, or until waiting cannot help."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic

import msgspec

from pilotage.scheduler_profiles.resource import PATH as PROFILES
from pilotage_operator.cluster import Cluster, NotReachable, Refused, WorldChanged
from pilotage_operator.profiles.kept import second_name
from pilotage_operator.profiles.world import KeptProfile, SchedulerPod, StoredProfile
from pilotage_operator.settings import Settings
from pilotage_operator.values import ValuesFile
from pilotage_operator.verification.findings import Finding
from pilotage_operator.verification.placements import Event, TestPod, about_placements
from pilotage_operator.verification.profiles import about_profiles

LOOK_EVERY = 1.0  # seconds
# A verdict may still change, for example if a permission was just granted.
PATIENCE_WITH_VERDICTS = 10.0


class _Profiles(msgspec.Struct):
    items: list[StoredProfile]


class _Replicas(msgspec.Struct):
    items: list[SchedulerPod]


class _Pods(msgspec.Struct):
    items: list[TestPod]


class _Events(msgspec.Struct):
    items: list[Event]


@dataclass(frozen=True)
class Verification:
    """The subject of the checks, and their time limit."""

    settings: Settings
    test_selector: str  # the labels of the test pods; empty: there are none
    seconds: float


async def verify(cluster: Cluster, given: Verification) -> list[Finding]:
    """Return the final findings, when everything is good, the time is up, or waiting cannot help."""
    started = monotonic()
    while True:
        findings = await _safe_look(cluster, given)
        bad = [finding for finding in findings if not finding.is_well]
        patience = given.seconds if all(finding.may_pass for finding in bad) else PATIENCE_WITH_VERDICTS
        if not bad or monotonic() - started > min(patience, given.seconds):
            return findings
        await asyncio.sleep(LOOK_EVERY)


async def _safe_look(cluster: Cluster, given: Verification) -> list[Finding]:
    try:
        return await _look(cluster, given)
    except Refused as error:
        remedy = "Grant the test's account the permissions in docs/operations.md, or set rbac.create=true."
        return [Finding(False, f"the test is not allowed to read: {error}", remedy)]
    except WorldChanged as error:
        return [Finding(False, f"SchedulerProfiles are not served: {error}", "Install the CRDs.", may_pass=True)]
    except (NotReachable, msgspec.MsgspecError) as error:
        return [Finding(False, f"the API server does not respond: {error}", "Try again.", may_pass=True)]


async def _look(cluster: Cluster, given: Verification) -> list[Finding]:
    """Check the profiles, then the pods of the good ones."""
    own = (None, "", given.settings.instance, given.settings.release)
    every = ValuesFile(given.settings.values_file).profiles() or ()
    kept = [each for each in every if each.spec.get("instance") in own]  # the values may assign some to other releases
    answer = await cluster.asked(cluster.client.get(PROFILES))
    profiles = about_profiles(msgspec.json.decode(answer, type=_Profiles).items, kept, given.settings)
    if not profiles:
        instance = given.settings.instance
        return [Finding(False, f"the release {instance} serves no profile", "Apply a SchedulerProfile.", may_pass=True)]
    schedulers = [_scheduler(each) for each in kept if _is_well(each, profiles, given.settings)]
    placed = await _placements(cluster, given, schedulers) if schedulers and given.test_selector else []
    return [*profiles.values(), *placed]


def _is_well(kept: KeptProfile, profiles: dict[str, Finding], settings: Settings) -> bool:
    names = (kept.name, second_name(kept.name, settings))
    return any(name in profiles and profiles[name].is_well for name in names)


def _scheduler(kept: KeptProfile) -> str:
    return str(kept.spec.get("schedulerName") or kept.name)


async def _placements(cluster: Cluster, given: Verification, schedulers: Sequence[str]) -> list[Finding]:
    namespace = given.settings.namespace
    pods = f"/api/v1/namespaces/{namespace}/pods"
    events = f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"
    tests, replicas, told = await asyncio.gather(
        cluster.asked(cluster.client.get(pods, {"labelSelector": given.test_selector})),
        cluster.asked(cluster.client.get(pods, {"labelSelector": given.settings.scheduler_selector})),
        cluster.asked(cluster.client.get(events, {"fieldSelector": "reason=Scheduled"})),
    )
    return about_placements(
        schedulers,
        msgspec.json.decode(tests, type=_Pods).items,
        msgspec.json.decode(told, type=_Events).items,
        [each.metadata.name for each in msgspec.json.decode(replicas, type=_Replicas).items],
        given.settings,
    )
