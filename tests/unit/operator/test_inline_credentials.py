"""Credentials in a spec: refused in a new one, told of one that runs, and shown by no status."""

import json
from datetime import timedelta
from typing import Any

import pytest

from kit.profile_world import REFUSED, ProfileWorld
from pilotage.config.handshake import WITHHELD
from pilotage.plugins.catalogue import built_in
from pilotage.scheduler_profiles.judge import Judge
from pilotage_operator.profiles.reconcile import reconcile
from pilotage_operator.profiles.unit_judge import UnitJudge

BEFORE = UnitJudge(Judge(built_in(), rules=None))  # as it was when nobody looked at credentials
NOW = UnitJudge(Judge(built_in()))
SECRET = "dG9wLXNlY3JldA=="
TLS = {"certData": "eA==", "keyData": SECRET}
EXTENDER = {"urlPrefix": "https://gpu", "filterVerb": "filter", "tlsConfig": TLS}
INLINE: dict[str, Any] = {"schedulerName": "good", "extenders": [EXTENDER]}
PLAIN: dict[str, Any] = {"schedulerName": "good"}


@pytest.fixture
def world() -> ProfileWorld:
    return ProfileWorld()


def settle(world: ProfileWorld, judge: UnitJudge, seconds: float = 0.0) -> None:
    for _ in range(3):
        for action in reconcile(world.world(), world.settings, judge):
            world.do(action)
        world.react()
    if seconds:
        world.now += timedelta(seconds=seconds)
        settle(world, judge)


def proven(world: ProfileWorld, spec: dict[str, Any], judge: UnitJudge) -> None:
    world.put("p", spec)
    settle(world, judge)
    settle(world, judge, 60)


def test_a_new_spec_is_refused_with_the_reason(world: ProfileWorld) -> None:
    world.put("p", INLINE)
    settle(world, NOW)
    status, reason, message = world.condition("p", "Accepted")
    assert (status, reason) == ("False", "InlineCredentials")
    assert message.startswith("spec.extenders[0].tlsConfig.keyData: ")
    assert world.served == {}
    assert SECRET not in json.dumps([world.status("p"), world.config_map, [each.note for each in world.events]])


def test_one_that_runs_runs_on_and_is_warned_of(world: ProfileWorld) -> None:
    proven(world, INLINE, BEFORE)
    settle(world, NOW)
    assert world.condition("p", "Accepted")[:2] == ("True", "Accepted")
    assert world.condition("p", "Ready")[:2] == ("True", "Acknowledged")
    status, reason, message = world.condition("p", "Warning")
    assert (status, reason) == ("True", "InlineCredentials")
    assert "write keySecretRef" in message
    assert SECRET in world.text, "the scheduler needs it"


def test_no_status_and_no_event_shows_it(world: ProfileWorld) -> None:
    proven(world, INLINE, BEFORE)
    settle(world, NOW)
    shown = world.status("p")["lastGood"]["spec"]["extenders"][0]["tlsConfig"]
    assert shown == {"certData": "eA==", "keyData": "REDACTED"}
    assert world.status("p")["lastAcknowledged"]["spec"] == world.status("p")["lastGood"]["spec"]
    assert SECRET not in json.dumps([world.status("p"), [each.note for each in world.events]])


def test_an_edit_of_it_is_refused_and_it_runs_on(world: ProfileWorld) -> None:
    proven(world, INLINE, BEFORE)
    world.put("p", {**INLINE, "percentageOfNodesToScore": 50})
    settle(world, NOW)
    assert world.condition("p", "Accepted")[:2] == ("False", "InlineCredentials")
    assert world.served["p"]["spec"] == INLINE


def test_it_comes_back_whole_after_one_that_does_not_do(world: ProfileWorld) -> None:
    proven(world, INLINE, BEFORE)
    settle(world, NOW)
    world.put("p", {**PLAIN, "percentageOfNodesToScore": REFUSED})
    settle(world, NOW)
    assert world.condition("p", "RolledBack")[:2] == ("True", "Refused")
    assert world.served["p"]["spec"] == INLINE
    assert SECRET in world.text


def test_nothing_is_kept_once_another_spec_has_proved_itself(world: ProfileWorld) -> None:
    proven(world, INLINE, BEFORE)
    settle(world, NOW)
    assert world.config_map is not None
    assert WITHHELD in world.config_map["data"]
    proven(world, PLAIN, NOW)
    assert WITHHELD not in world.config_map["data"]
    assert SECRET not in json.dumps([world.status("p"), world.config_map])


@pytest.mark.parametrize("text", ["", "[]", "{", '{"p": 1}', '{"p": {"x": 1}}', '{"p": {"x": {"schedulerName": "y"}}}'])
def test_what_somebody_wrote_there_by_hand_does_not_count(world: ProfileWorld, text: str) -> None:
    proven(world, PLAIN, NOW)
    assert world.config_map is not None
    world.config_map["data"][WITHHELD] = text
    settle(world, NOW)
    assert WITHHELD not in world.config_map["data"]
    assert world.served["p"]["spec"] == PLAIN


def test_a_service_that_may_not_be_asked_any_more_leaves_what_runs(world: ProfileWorld) -> None:
    args = {
        "metricProvider": {"type": "Prometheus", "tokenFile": "/var/run/secrets/kubernetes.io/serviceaccount/token"}
    }
    spec = {"schedulerName": "good", "plugins": [{"name": "TargetLoadPacking", "args": args}]}
    proven(world, spec, BEFORE)
    settle(world, NOW)
    status, reason, message = world.condition("p", "Accepted")
    assert (status, reason) == ("False", "ForbiddenService")
    assert message.endswith("(it keeps running)")
    assert world.served["p"]["spec"] == spec
