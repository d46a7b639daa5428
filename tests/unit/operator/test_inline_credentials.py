"""Credentials in a spec: refused, whatever ran before."""

import json
from datetime import timedelta
from typing import Any

import pytest

from kit.profile_world import ProfileWorld
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
TOKEN = {"type": "Prometheus", "address": "https://figures", "token": SECRET}
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


@pytest.mark.parametrize(
    ("spec", "where"),
    [
        pytest.param(INLINE, "spec.extenders[0].tlsConfig.keyData: ", id="the key of an extender"),
        pytest.param(
            {"schedulerName": "good", "extenders": [{"urlPrefix": f"https://me:{SECRET}@gpu", "filterVerb": "filter"}]},
            "spec.extenders[0].urlPrefix: ",
            id="a password in a URL",
        ),
        pytest.param(
            {"schedulerName": "good", "plugins": [{"name": "TargetLoadPacking", "args": {"metricProvider": TOKEN}}]},
            "spec.plugins[name=TargetLoadPacking].args.metricProvider.token: ",
            id="the token of a source of figures",
        ),
    ],
)
def test_it_is_refused_and_told_to_nobody(world: ProfileWorld, spec: dict[str, Any], where: str) -> None:
    world.put("p", spec)
    settle(world, NOW)
    status, reason, message = world.condition("p", "Accepted")
    assert (status, reason) == ("False", "InlineCredentials")
    assert where in message
    assert world.served == {}
    assert SECRET not in json.dumps([world.status("p"), world.config_map, [each.note for each in world.events]])


def test_one_that_ran_before_there_was_the_rule_is_refused_like_any_other(world: ProfileWorld) -> None:
    proven(world, INLINE, BEFORE)
    settle(world, NOW)
    status, reason, message = world.condition("p", "Accepted")
    assert (status, reason) == ("False", "InlineCredentials")
    assert message.endswith("(it keeps running)")
    assert world.served["p"]["spec"] == INLINE
    proven(world, PLAIN, NOW)
    assert world.condition("p", "Accepted")[:2] == ("True", "Accepted")
    assert SECRET not in json.dumps([world.status("p"), world.config_map])


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
