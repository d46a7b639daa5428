"""What extenders say about victims and bindings, who are asked over a real connection."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import pytest

from kit.scripted_extender import POD, Extenders, leaves
from pilotage.config.types import Extender as ExtenderConfig
from pilotage.extenders.extenders import bind_by_extender, settings_of, trim_victims
from pilotage.framework.runtime.preemption.victims import Victims
from pilotage.model.extender_messages import ExtenderFailed
from pilotage.model.outside_services import OutsideRules
from pilotage.model.pod import Pod
from pilotage.testing import make_pod


@pytest.fixture
async def start() -> AsyncIterator[Extenders]:
    async with AsyncExitStack() as stack:
        yield Extenders(stack)


# --------------------------------------------------------------------------------------------------------- preemption


LOW = make_pod("low", uid="u-low", priority=1, cpu=1, node="n1")
LOWER = make_pod("lower", uid="u-lower", priority=0, cpu=1, node="n1")
OTHER = make_pod("other", uid="u-other", priority=5, cpu=1, node="n2")
HIGH = make_pod("high", uid="u-high", priority=10, cpu=1, node="n2")
PODS_ON = {"n1": {pod.uid: pod for pod in (LOW, LOWER)}, "n2": {pod.uid: pod for pod in (OTHER, HIGH)}}
CANDIDATES = [Victims("n1", (LOW,), 1), Victims("n2", (OTHER,))]


def agrees(**uids: list[str]) -> dict[str, Any]:
    victims = {node: {"Pods": [{"UID": uid} for uid in each], "NumPDBViolations": 0} for node, each in uids.items()}
    return {"NodeNameToMetaVictims": victims}


@pytest.mark.parametrize(
    ("answer", "left"),
    [
        pytest.param(agrees(n1=["u-low"], n2=["u-other"]), {"n1": [LOW], "n2": [OTHER]}, id="all as they were"),
        pytest.param(agrees(n2=["u-other"]), {"n2": [OTHER]}, id="one node less"),
        pytest.param(agrees(n1=["u-lower", "u-low"]), {"n1": [LOW, LOWER]}, id="one victim more, the important first"),
        pytest.param(agrees(), {}, id="none"),
    ],
)
async def test_victims_that_an_extender_agrees_to(start: Extenders, answer: Any, left: dict[str, list[Pod]]) -> None:
    extender = await start({"preempt": answer})
    found = await trim_victims([extender], POD, CANDIDATES, PODS_ON.get)
    assert {victims.node: list(victims.pods) for victims in found} == left
    assert all(victims.violations == 0 for victims in found)


@pytest.mark.parametrize(
    ("answer", "text", "ignored"),
    [
        pytest.param(agrees(n1=[]), 'expected at least one victim pod on node "n1"', [], id="nobody on a node"),
        pytest.param(
            agrees(n1=["u-other"]),
            "extender: URL claims to preempt pod (UID: &{u-other}) on node: n1, but the pod is not found on that node",
            CANDIDATES,
            id="a pod of another node",
        ),
        pytest.param(
            agrees(n9=["u-low"]), 'nodeinfo not found for node name "n9"', CANDIDATES, id="a node that is not there"
        ),
        pytest.param(
            agrees(n2=["u-high"]),
            "extender: URL claims to preempt pod (UID: &{u-high}) on node: n2, "
            "but its priority is not lower than that of pod default/web",
            CANDIDATES,
            id="a pod that is as important",
        ),
    ],
)
async def test_victims_that_are_errors(start: Extenders, answer: Any, text: str, ignored: list[Victims]) -> None:
    extender = await start({"preempt": answer})
    with pytest.raises(ExtenderFailed) as failed:
        await trim_victims([extender], POD, CANDIDATES, PODS_ON.get)
    assert str(failed.value).replace(extender.name, "URL") == text
    extender.ignorable = True
    assert await trim_victims([extender], POD, CANDIDATES, PODS_ON.get) == ignored


async def test_each_extender_trims_what_the_one_before_left(start: Extenders) -> None:
    first = await start({"preempt": agrees(n1=["u-lower"])})
    second = await start({"preempt": agrees(n1=["u-lower"])})
    await trim_victims([first, await start(), second], POD, CANDIDATES, PODS_ON.get)
    told = start.scripted[1].questions[0][1]["NodeNameToMetaVictims"]
    assert told == {"n1": {"Pods": [{"UID": "u-lower"}], "NumPDBViolations": 0}}


# --------------------------------------------------------------------------------------------------------------- bind


async def test_the_first_that_binds_and_is_interested_does_it(start: Extenders) -> None:
    extenders = [
        await start({"filter": leaves()}),
        await start({"bind": AssertionError}, managed_resources=frozenset({"a.com/x"})),
        await start({"bind": {"Error": ""}}),
    ]
    assert await bind_by_extender(extenders, POD, "n1")
    assert [len(each) for each in start.asked()] == [0, 0, 1]
    assert not await bind_by_extender(extenders[:2], POD, "n1")


async def test_a_binding_that_fails(start: Extenders) -> None:
    extender = await start({"bind": {"Error": "no"}})
    with pytest.raises(ExtenderFailed, match="no"):
        await bind_by_extender([extender], POD, "n1")
    extender.ignorable = True
    assert not await bind_by_extender([extender], POD, "n1")


def test_settings_from_the_configuration() -> None:
    given = ExtenderConfig.model_validate(
        {
            "urlPrefix": "http://x",
            "filterVerb": "f",
            "weight": 3,
            "httpTimeout": "250ms",
            "managedResources": [{"name": "a.com/x"}],
            "tlsConfig": {"serverName": "ext", "caData": "Y2E="},
        }
    )
    settings = settings_of(given)
    assert (settings.url_prefix, settings.filter_verb, settings.bind_verb, settings.weight) == ("http://x", "f", "", 3)
    assert settings.timeout == 0.25
    assert settings.managed_resources == {"a.com/x"}
    assert (settings.tls.server_name, settings.tls.ca_data, settings.tls.insecure) == ("ext", b"ca", False)


@pytest.mark.parametrize(
    ("rules", "refused"),
    [
        pytest.param(None, "", id="whoever writes the file of --config may name any file and host"),
        pytest.param(
            OutsideRules(), "tlsConfig.keyFile: only files below /etc/pilotage/credentials", id="a profile not"
        ),
    ],
)
def test_files_and_hosts_of_profiles_are_looked_at(rules: OutsideRules | None, refused: str) -> None:
    given = {"urlPrefix": "https://gpu", "filterVerb": "f", "tlsConfig": {"certFile": "/x.crt", "keyFile": "/x.key"}}
    found = settings_of(ExtenderConfig.model_validate(given), rules)
    assert refused in found.refused
    assert bool(found.refused) is (rules is not None)
    assert ("gpu is not a host that may get a client certificate" in found.refused) is (rules is not None)
