"""The controllers against a small API server: what they write, when, and what they survive."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from functools import partial
from typing import Any

import pytest

from kit.custom_api import CustomApi
from kit.running_controllers import quiet, running, until
from kit.small_api import small_api
from pilotage_operator.controllers import work_queue
from pilotage_operator.controllers.outcome import Outcome
from pilotage_operator.controllers.pod_groups import LABEL, StoredPodGroup
from pilotage_operator.controllers.registry import PODS, Controller, Resource

pytestmark = pytest.mark.usefixtures("quickly")

GROUPS = Resource("scheduling.x-k8s.io", "v1alpha1", "podgroups", "PodGroup", StoredPodGroup)
TEMPLATE = {"spec": {"containers": [{"name": "main", "image": "x"}]}}


@pytest.fixture
async def api() -> AsyncIterator[CustomApi]:
    async with small_api(served := CustomApi("podgroups", "stickyjobs")):
        yield served


def add_member(api: CustomApi, name: str, phase: str, group: str = "g", **place: str) -> None:
    node = {} if phase == "Pending" else {"nodeName": "n1"}
    api.make("pods", name, metadata={"labels": {LABEL: group}}, spec=node, status={"phase": phase}, **place)


def phase(api: CustomApi, plural: str, name: str) -> str:
    return str(api.find(plural, name).get("status", {}).get("phase", ""))


def has_phase(api: CustomApi, expected: str) -> bool:
    return phase(api, "podgroups", "g") == expected


def writes(api: CustomApi, part: str) -> int:
    return sum(part in path for _, path in api.writes)


async def test_a_group_goes_through_its_phases(api: CustomApi) -> None:
    api.make("podgroups", "g", spec={"minMember": 2})
    async with running(api):
        await until(lambda: phase(api, "podgroups", "g") == "Pending")
        for kind, expected in (("Pending", "Scheduling"), ("Running", "Running"), ("Succeeded", "Finished")):
            for name in ("a", "b"):
                add_member(api, name, kind)
            await until(partial(has_phase, api, expected))
        await quiet(api)
    told = [(event["reason"], event["reportingController"], event["regarding"]["name"]) for event in api.events]
    assert told == [(each, "PodGroupController", "g") for each in ("Scheduling", "Running", "Finished")]


async def test_what_is_so_already_is_not_written(api: CustomApi) -> None:
    api.make("podgroups", "g", spec={"minMember": 1})
    add_member(api, "a", "Running")
    async with running(api):
        await until(lambda: phase(api, "podgroups", "g") == "Running")
        await quiet(api)
        before = list(api.writes)
        add_member(api, "a", "Running")
        add_member(api, "stranger", "Running", group="other")
        await quiet(api)
    async with running(api):
        await quiet(api)
    assert api.writes == before
    assert len(api.events) == 1


async def test_many_changes_are_few_writes(api: CustomApi, monkeypatch: pytest.MonkeyPatch) -> None:
    interval = 0.5
    monkeypatch.setattr(work_queue, "INTERVAL", interval)
    api.make("podgroups", "g", spec={"minMember": 100})
    async with running(api):
        begun = time.monotonic()
        await until(lambda: phase(api, "podgroups", "g"))
        for number in range(100):
            add_member(api, f"p{number}", "Pending")
            await asyncio.sleep(0.002)
        await until(lambda: phase(api, "podgroups", "g") == "Scheduling")
        intervals = (time.monotonic() - begun) / interval  # few, unless the machine is busy
    assert writes(api, "podgroups") <= 3 + intervals


async def test_nothing_is_watched_that_nobody_needs(api: CustomApi) -> None:
    async with running(api):
        await until(lambda: ("GET", "/apis/pilotage.dev/v1alpha1/stickyjobs") in api.requests)
        await quiet(api)
        assert not any(path.endswith("/pods") for _, path in api.requests)
        api.make("podgroups", "g", spec={})
        await until(lambda: any(path.endswith("/pods") for _, path in api.requests))


async def test_a_definition_may_come_later() -> None:
    async with small_api(api := CustomApi()), running(api):
        await asyncio.sleep(0.2)
        assert not any("podgroups" in path for _, path in api.requests)
        api.serve("podgroups")
        api.make("podgroups", "g", spec={})
        await until(lambda: phase(api, "podgroups", "g") == "Pending")


async def test_only_the_kinds_that_are_asked_for(api: CustomApi) -> None:
    api.make("podgroups", "g", spec={})
    api.make("stickyjobs", "j", spec={"template": TEMPLATE})
    async with running(api, "PodGroup"):
        await until(lambda: phase(api, "podgroups", "g"))
        await quiet(api)
    assert not any("stickyjobs" in path for _, path in api.requests)


async def test_without_kinds_nothing_is_asked(api: CustomApi) -> None:
    async with running(api, "Nothing"):
        await asyncio.sleep(0.2)
    assert api.requests == []


@pytest.mark.parametrize("status", [404, 409, 429, 500, 422, 403])
async def test_an_answer_that_says_no_is_tried_again(api: CustomApi, status: int) -> None:
    api.troubles = [status] * 3
    api.make("podgroups", "g", spec={})
    async with running(api):
        await until(lambda: phase(api, "podgroups", "g") == "Pending")


async def test_what_somebody_else_wrote_meanwhile_stays(api: CustomApi) -> None:
    """The scheduler writes the status, too: a patch that was made of an older one is refused, and made anew."""
    api.make("stickyjobs", "j", spec={"template": TEMPLATE})
    async with running(api):
        await until(lambda: api.find("pods", "j"))
        for number in range(20):
            known = api.find("stickyjobs", "j")
            api.put("stickyjobs", known | {"status": known.get("status", {}) | {"lastNode": f"n{number}"}})
            await asyncio.sleep(0.005)
        await quiet(api)
    assert api.find("stickyjobs", "j")["status"]["lastNode"] == "n19"
    assert phase(api, "stickyjobs", "j") == "Pending"


async def test_one_bad_object_stops_no_other(api: CustomApi) -> None:
    def decide(group: Any, seen: Any) -> Outcome:
        if group.metadata.name == "bad":
            raise ValueError("too strange")
        return Outcome({"phase": "Seen"})

    api.make("podgroups", "bad", spec={})
    api.make("podgroups", "odd", spec={"minMember": "many"})
    api.make("podgroups", "good", spec={})
    async with running(api, controllers=(Controller(GROUPS, decide),)):
        await until(lambda: phase(api, "podgroups", "good") == "Seen")
        await asyncio.sleep(0.3)
        api.make("podgroups", "later", spec={})
        await until(lambda: phase(api, "podgroups", "later") == "Seen")
    assert [phase(api, "podgroups", name) for name in ("bad", "odd")] == ["", ""]


async def test_a_change_of_what_is_read_concerns_all_where_nothing_else_is_said(api: CustomApi) -> None:
    def decide(group: Any, seen: Any) -> Outcome:
        others = sorted(each.metadata.name for each in seen.all(GROUPS))
        return Outcome({"phase": ",".join(others), "running": len(seen.pods("team"))})

    controller = Controller(GROUPS, decide, reads=(PODS, GROUPS))
    api.make("podgroups", "a", spec={})
    async with running(api, controllers=(controller,)):
        await until(lambda: phase(api, "podgroups", "a") == "a")
        api.make("podgroups", "b", spec={})
        await until(lambda: phase(api, "podgroups", "a") == phase(api, "podgroups", "b") == "a,b")
        add_member(api, "p", "Running", group="nobody's")
        await until(lambda: api.find("podgroups", "a")["status"]["running"] == 1)
    assert ("Synced", "Pod Group team/a synced successfully") in [(each["reason"], each["note"]) for each in api.events]


async def test_a_spec_is_made_from_a_config_map(api: CustomApi) -> None:
    def decide(group: Any, seen: Any) -> Outcome:
        data: Mapping[str, str] = seen.config_map or {}
        return Outcome({"phase": "There" if data else "Missing"}, spec={"minMember": int(data.get("members", 1))})

    controller = Controller(GROUPS, decide, config_map=lambda group: "costs", every=0.1, writes_spec=True)
    api.make("podgroups", "g", spec={"minMember": 1, "theirs": "x"})
    async with running(api, controllers=(controller,)):
        await until(lambda: phase(api, "podgroups", "g") == "Missing")
        api.put("configmaps", {"metadata": {"name": "costs", "namespace": "team"}, "data": {"members": "7"}})
        await until(lambda: phase(api, "podgroups", "g") == "There")
    assert api.find("podgroups", "g")["spec"] == {"minMember": 7, "theirs": "x"}


# ------------------------------------------------------------------------------------------------------- sticky jobs


def say(api: CustomApi, phase: str, node: str = "n1") -> None:
    """What a scheduler and a node do to the pod of the job."""
    known = api.find("pods", "j")
    api.put("pods", known | {"spec": known["spec"] | {"nodeName": node}, "status": {"phase": phase}})


async def test_a_pod_that_fails_or_is_lost_is_made_again(api: CustomApi) -> None:
    api.make("stickyjobs", "j", spec={"template": TEMPLATE})
    async with running(api):
        await until(lambda: api.find("pods", "j"))
        say(api, "Running", "n7")
        await until(lambda: phase(api, "stickyjobs", "j") == "Running")
        first = api.find("pods", "j")["metadata"]["uid"]
        say(api, "Failed", "n7")
        await until(lambda: api.find("pods", "j").get("metadata", {}).get("uid", first) != first)
        say(api, "Running", "n7")
        await until(lambda: phase(api, "stickyjobs", "j") == "Running")
        api.delete("pods", "j", "team")
        await until(lambda: api.find("pods", "j") and phase(api, "stickyjobs", "j") == "Pending")
        status = api.find("stickyjobs", "j")["status"]
    assert (status["lastNode"], status["restarts"], status["failures"]) == ("n7", 2, 2)
    assert [event["reason"] for event in api.events if event["type"] == "Warning"] == ["PodFailed", "PodLost"]


async def test_a_suspended_job_has_no_pod(api: CustomApi) -> None:
    job = api.make("stickyjobs", "j", spec={"template": TEMPLATE})
    async with running(api):
        await until(lambda: phase(api, "stickyjobs", "j") == "Pending")
        api.put("stickyjobs", api.find("stickyjobs", "j") | {"spec": job["spec"] | {"suspend": True}})
        await until(lambda: not api.find("pods", "j") and phase(api, "stickyjobs", "j") == "Suspended")
        await quiet(api)
        assert not api.find("pods", "j")
        api.put("stickyjobs", api.find("stickyjobs", "j") | {"spec": job["spec"]})
        await until(lambda: phase(api, "stickyjobs", "j") == "Pending")
    assert api.find("stickyjobs", "j")["status"]["restarts"] == 0


async def test_why_a_pod_is_refused_is_told(api: CustomApi) -> None:
    api.make("stickyjobs", "j", spec={"template": TEMPLATE})
    api.refuses_pods = True
    async with running(api):
        await until(lambda: "PodRefused" in str(api.find("stickyjobs", "j").get("status")))
        api.refuses_pods = False
        await until(lambda: phase(api, "stickyjobs", "j") == "Pending")


async def test_killed_at_any_moment_there_is_one_pod_and_every_restart_counts_once(api: CustomApi) -> None:
    api.make("stickyjobs", "j", spec={"template": TEMPLATE})
    api.make("podgroups", "g", spec={"minMember": 1})
    add_member(api, "member", "Running")
    for tick in range(40):
        async with running(api):
            await asyncio.sleep(0.005 * tick)
    async with running(api):
        await until(lambda: phase(api, "stickyjobs", "j") == "Pending" and phase(api, "podgroups", "g") == "Running")
        await quiet(api)
    status = api.find("stickyjobs", "j")["status"]
    assert (status.get("restarts"), status.get("failures", 0)) == (0, 0)
    assert [path for method, path in api.writes if method == "POST"] == ["pods/j"]
    assert writes(api, "podgroups/g") == 1
