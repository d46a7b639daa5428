"""Pods that are taken back: whether, with which words, and who hears of it."""

import logging
from dataclasses import replace
from typing import Any

import pytest

from kit.live_core import LiveCore
from pilotage.model.pod import Pod
from pilotage.queue.queued_pod import QueuedPod
from pilotage.scheduling.failure import Failures
from pilotage.scheduling.outcome import SCHEDULER_ERROR, Unplaced
from pilotage.telemetry.verbosity import V2
from pilotage.testing import make_pod

pytestmark = pytest.mark.looptime

TEXT = "0/1 nodes are available: 1 Insufficient cpu."
NO_FIT = Unplaced(TEXT, rejected_by=frozenset({"NodeResourcesFit"}))


class World(LiveCore):
    """One pod in flight, and what takes it back."""

    def __init__(self, **fields: Any) -> None:
        super().__init__()
        self.failures = Failures(
            self.core.queue, self.api.pods.get, self.api, self.api, self.core.evictions, self.core.engines
        )
        self.pod = make_pod("a", uid="a", **fields)
        self.create(self.pod)
        queued = self.core.queue.pop()
        assert queued is not None
        self.queued: QueuedPod = queued

    def told(self) -> tuple[object, object]:
        return self.api.events, self.api.conditions


@pytest.mark.parametrize(
    ("outcome", "place", "condition"),
    [
        pytest.param(NO_FIT, "unschedulable", ("a", "Unschedulable", TEXT, ""), id="rejected: it is parked"),
        pytest.param(
            Unplaced("no nodes available to schedule pods"),
            "backoff",
            ("a", "Unschedulable", "no nodes available to schedule pods", ""),
            id="rejected by nobody: tried again soon",
        ),
        pytest.param(
            Unplaced("plugin X failed", SCHEDULER_ERROR),
            "backoff",
            ("a", "SchedulerError", "plugin X failed", ""),
            id="an error: tried again soon",
        ),
        pytest.param(
            Unplaced(TEXT, rejected_by=frozenset({"X"}), nominate="n1"),
            "unschedulable",
            ("a", "Unschedulable", TEXT, "n1"),
            id="a node is nominated",
        ),
        pytest.param(
            Unplaced(TEXT, rejected_by=frozenset({"X"}), nominate=None),
            "unschedulable",
            ("a", "Unschedulable", TEXT, None),
            id="an earlier nomination stands",
        ),
    ],
)
async def test_what_its_owner_is_told(outcome: Unplaced, place: str, condition: tuple[str, str, str, Any]) -> None:
    world = World()
    world.failures.requeue(world.queued, outcome)
    assert world.place(world.pod) == place
    assert world.api.conditions == [condition]
    assert world.api.events == [("a", "Warning", "FailedScheduling", "Scheduling", outcome.message)]
    assert world.held() == {}


@pytest.mark.parametrize(
    ("before", "nominate", "nominated", "seen_by_the_queue"),
    [
        pytest.param("", "n1", ["n1"], "n1", id="a nomination is made"),
        pytest.param("n1", "", [], "", id="it is taken back"),
        pytest.param("n1", None, ["n1"], "n1", id="it stands"),
        pytest.param("n1", "n2", ["n2"], "n2", id="it is another one"),
    ],
)
async def test_nominations(before: str, nominate: str | None, nominated: list[str], seen_by_the_queue: str) -> None:
    world = World(status={"nominatedNodeName": before} if before else {})
    world.failures.requeue(world.queued, Unplaced(TEXT, rejected_by=frozenset({"X"}), nominate=nominate))
    assert list(world.core.queue.nominator.nodes) == nominated
    queued = world.core.queue.find("default/a")
    assert queued is not None
    assert queued.pod.nominated_node == seen_by_the_queue


async def test_a_nomination_stands_of_which_the_api_server_has_not_told_yet() -> None:
    world = World()
    for nominate in ("n1", None):
        world.failures.requeue(world.queued, Unplaced(TEXT, rejected_by=frozenset({"X"}), nominate=nominate))
        world.core.queue.activate([world.pod])
        assert world.core.queue.pop() is world.queued
    assert world.core.queue.nominator.node_of(world.pod) == "n1"
    assert world.queued.pod.nominated_node == "n1"


async def test_others_are_woken_if_a_nomination_ends_of_which_the_api_server_has_not_told() -> None:
    """They may wait only because they left it room."""
    world, other = World(cpu="1"), make_pod("b", uid="b", cpu="1")
    world.failures.requeue(world.queued, replace(NO_FIT, nominate="n1"))
    world.create(other)
    queued = world.core.queue.pop()
    assert queued is not None
    world.failures.requeue(queued, NO_FIT)
    assert world.place(other) == "unschedulable"
    world.core.queue.activate([world.pod])
    assert world.core.queue.pop() is world.queued
    world.failures.requeue(world.queued, NO_FIT)
    assert world.place(other) in ("active", "backoff")
    assert world.place(world.pod) == "unschedulable"


@pytest.mark.parametrize(
    ("latest", "logged"),
    [
        pytest.param(None, "pod default/a was deleted and is not retried", id="it is gone"),
        pytest.param(
            make_pod("a", uid="successor"),
            "pod default/a was deleted and is not retried",
            id="another one has its name",
        ),
        pytest.param(
            make_pod("a", uid="a", node="n7"),
            "pod default/a has been assigned to node n7 and is not retried",
            id="it has a node",
        ),
    ],
)
async def test_a_pod_that_waits_no_longer(latest: Pod | None, logged: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    world = World()
    del world.api.pods["default/a"]
    if latest is not None:
        world.api.pods["default/a"] = latest
    world.failures.requeue(world.queued, NO_FIT)
    assert world.place(world.pod) == "nowhere"
    assert world.held() == {}
    assert world.told() == ([], [])
    assert logged in caplog.text


async def test_it_comes_back_as_it_is_now() -> None:
    world = World()
    newest = make_pod("a", uid="a", labels={"x": "y"})
    world.change(world.pod, newest)
    world.failures.requeue(world.queued, NO_FIT)
    queued = world.core.queue.find("default/a")
    assert queued is not None
    assert queued.pod.labels == {"x": "y"}


@pytest.mark.parametrize(
    ("outcome", "level", "text"),
    [
        pytest.param(NO_FIT, V2, "Unable to schedule pod; no fit; waiting", id="no fit is no news"),
        pytest.param(
            Unplaced("oh", SCHEDULER_ERROR), logging.ERROR, "Error scheduling pod; retrying", id="an error is one"
        ),
    ],
)
async def test_the_log(outcome: Unplaced, level: int, text: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(1)
    world = World()
    world.failures.requeue(world.queued, outcome)
    [record] = [record for record in caplog.records if record.name.endswith("failure")]
    assert (record.levelno, record.getMessage()) == (level, text)
    assert record.__dict__["values"] == {"pod": "default/a", "err": outcome.message}


async def test_a_plugin_may_have_named_the_time_of_the_next_try() -> None:
    world = World()
    world.failures.requeue(world.queued, Unplaced(TEXT, rejected_by=frozenset({"X"}), again_at=12345.5))
    assert world.queued.again_at == 12345.5


async def test_a_pod_over_which_a_plugin_took_too_long_rests_longer_each_time() -> None:
    world, rests = World(), []
    for _ in range(7):
        world.failures.requeue(world.queued, Unplaced("too long", SCHEDULER_ERROR, rest=30.0, cost=1.0))
        rests.append(world.queued.rest)
        world.core.queue.take(world.queued)
    assert rests == [30, 60, 120, 240, 480, 600, 600]
    world.failures.requeue(world.queued, Unplaced("not asked", SCHEDULER_ERROR, rest=3.0))
    assert world.queued.rest == 3
