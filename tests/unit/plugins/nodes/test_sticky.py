"""Pods return to the node where the pod before them ran."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.config.faults import Stage
from pilotage.framework.api.events import Action, Event, Resource
from pilotage.framework.api.stays import Stay
from pilotage.framework.api.verdicts import SKIP, OnlyNodes, Rejection
from pilotage.framework.runtime.plugin_set import PluginSet
from pilotage.framework.runtime.runner import Runner
from pilotage.kinds.sticky_job import StickyJob, StickyJobStatus
from pilotage.model.metadata import Metadata
from pilotage.model.pod import Pod
from pilotage.plugins.nodes.sticky import Sticky
from pilotage.plugins.preemption.default_preemption import DefaultPreemption
from pilotage.plugins.resources.node_resources_fit import NodeResourcesFit
from pilotage.scheduling.engine import Engine
from pilotage.scheduling.equivalence.equivalence_cache import EquivalenceCache
from pilotage.scheduling.outcome import Placed, Unplaced
from pilotage.testing import FakeCluster, FakeScheduler, filter_all, make_node, make_pod, raw_scores, score_all

AT = ("profiles", 0, "pluginConfig", 1, "args")
ELSEWHERE = Rejection("already stick to another node", preemption_helps=False)
NOON = 1_767_268_800.0  # 2026-01-01T12:00:00Z
REQUIRE = {"mode": "Require"}


def owned(name: str, kind: str = "Job", owner: str = "job", node: str | None = None, **fields: Any) -> Pod:
    group = "pilotage.dev/v1alpha1" if kind == "StickyJob" else "batch/v1"
    reference = {"apiVersion": group, "kind": kind, "name": owner, "uid": f"uid-{owner}", "controller": True}
    about = {"creationTimestamp": "2026-01-01T12:00:00Z", "ownerReferences": [reference]}
    return make_pod(name, uid=name, node=node, metadata=about | fields.pop("metadata", {}), **fields)


def job(last_node: str, name: str = "job", uid: str | None = None) -> StickyJob:
    return StickyJob(Metadata(name, "default", uid or f"uid-{name}"), StickyJobStatus(last_node))


def sticky(arguments: dict[str, Any] | None = None, *, now: float = NOON, left: tuple[Pod, ...] = ()) -> Sticky:
    """Return the plugin at a time, after these pods were seen to leave."""
    plugin = Sticky.of(arguments or {})
    plugin._clock = lambda: now
    for pod in left:
        plugin.pod_left(pod)
    return plugin


def three(*pods: Pod, objects: tuple[StickyJob, ...] = ()) -> FakeCluster:
    return FakeCluster([make_node(f"n{i}", cpu=2) for i in (1, 2, 3)], pods, objects)


def node_of(outcome: object) -> str:
    assert isinstance(outcome, Placed), outcome
    return outcome.node


# ------------------------------------------------------------------------------------------- the vectors of StickyJob


@pytest.mark.parametrize("mode", ["Prefer", "Require"])
@pytest.mark.parametrize(
    ("pod", "jobs", "homes"),
    [
        pytest.param(owned("p", "StickyJob"), (job(""),), set(), id="a job that has not run may go anywhere"),
        pytest.param(owned("p", "StickyJob"), (job("n2"),), {"n2"}, id="one that ran on n2 goes there"),
        pytest.param(owned("p", "StickyJob"), (job("gone"),), set(), id="one whose node is gone may go anywhere"),
        pytest.param(owned("p", "StickyJob"), (), set(), id="one whose job is not known, too"),
        pytest.param(owned("p"), (job("n2"),), set(), id="a job of another kind is untouched"),
        pytest.param(make_pod(), (job("n2"),), set(), id="a pod without an owner is untouched"),
        pytest.param(
            owned("p", "StickyJob"), (job("n2", uid="older"),), set(), id="an earlier job of the same name is another"
        ),
        pytest.param(owned("p", "StickyJob", namespace="x"), (job("n2"),), set(), id="so is one of another namespace"),
        pytest.param(
            owned("p", metadata={"ownerReferences": [{"apiVersion": "example.com/v1", "kind": "StickyJob"}]}),
            (job("n2"),),
            set(),
            id="so is one of another group",
        ),
    ],
)
def test_sticky_jobs(mode: str, pod: Pod, jobs: tuple[StickyJob, ...], homes: set[str]) -> None:
    plugin, nodes = sticky({"mode": mode}), three(objects=jobs)
    expected = {f"n{i}": 100 if f"n{i}" in homes else 0 for i in (1, 2, 3)}
    assert score_all(plugin, nodes, pod) == (expected if homes else SKIP)
    held = {name: None if name in homes else ELSEWHERE for name in expected}
    assert filter_all(plugin, nodes, pod) == (held if homes and mode == "Require" else SKIP)


def test_a_job_returns_to_its_node() -> None:
    scheduler = FakeScheduler(sticky(REQUIRE), NodeResourcesFit(), cluster=three(objects=(job("n2"),)))
    assert node_of(scheduler.schedule(owned("p", "StickyJob"))) == "n2"


UNREAD = Rejection(
    "StickyJob default/job cannot be decoded: why; correct it, it names the pod's node", preemption_helps=False
)


@pytest.mark.parametrize(
    ("plugin", "pod", "found"),
    [
        pytest.param(sticky(REQUIRE), owned("p", "StickyJob"), UNREAD, id="it waits"),
        pytest.param(sticky(), owned("p", "StickyJob"), SKIP, id="one that need not return does not wait"),
        pytest.param(sticky(REQUIRE), owned("p"), SKIP, id="nor does that of another job"),
        pytest.param(
            sticky(REQUIRE, left=(owned("before", "StickyJob", node="n2"),)),
            owned("p", "StickyJob"),
            {"n1": ELSEWHERE, "n2": None, "n3": ELSEWHERE},
            id="nor one whose predecessor was seen",
        ),
        pytest.param(
            sticky({**REQUIRE, "giveUpSeconds": 60}, now=NOON + 60),
            owned("p", "StickyJob"),
            SKIP,
            id="nor one that has waited for long enough",
        ),
    ],
)
def test_a_pod_that_must_return_waits_for_a_job_that_cannot_be_understood(
    plugin: Sticky, pod: Pod, found: object
) -> None:
    nodes = three()
    nodes.cache.objects.note_trouble(StickyJob, "job", "default", "why")
    assert filter_all(plugin, nodes, pod) == found


def test_it_waits_no_longer_than_it_may() -> None:
    nodes, pod = three(), owned("p", "StickyJob")
    nodes.cache.objects.note_trouble(StickyJob, "job", "default", "why")
    cycle = nodes.cycle(pod)
    assert sticky({**REQUIRE, "giveUpSeconds": 60}).pre_filter(cycle, pod) == UNREAD
    assert cycle.again_at == NOON + 60


FULL = make_pod("full", node="n2", cpu=2)


def test_a_node_that_is_full_is_waited_for_and_nobody_looks_at_the_others() -> None:
    scheduler = FakeScheduler(sticky(REQUIRE), NodeResourcesFit(), cluster=three(FULL, objects=(job("n2"),)))
    outcome = scheduler.schedule(owned("p", "StickyJob", cpu=1))
    assert isinstance(outcome, Unplaced)
    assert outcome.message == (
        "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't satisfy plugin(s) [Sticky]."
    )
    assert outcome.rejected_by == {"Sticky", "NodeResourcesFit"}


def test_a_profile_that_only_filters_tells_the_reason_of_the_original() -> None:
    nodes, plugin = three(FULL, objects=(job("n2"),)), sticky(REQUIRE)
    scheduler = FakeScheduler(cluster=nodes)
    runner = Runner(PluginSet(filter=(plugin, NodeResourcesFit())))
    scheduler.engine = Engine(runner, EquivalenceCache(runner, nodes.cache.columns), 0)
    attempt = scheduler.attempt(owned("p", "StickyJob", cpu=1))
    assert len(attempt.feasible()) == 0
    outcome = attempt.post_filter()
    assert outcome.message == "0/3 nodes are available: 1 Insufficient cpu, 2 already stick to another node."


def test_evicting_pods_elsewhere_is_not_even_tried() -> None:
    pods = [make_pod(f"small-{i}", node=f"n{i}", cpu=2, priority=0) for i in (1, 2, 3)]
    nodes = three(*pods, objects=(job("n2"),))
    scheduler = FakeScheduler(sticky(REQUIRE), NodeResourcesFit(), DefaultPreemption(), cluster=nodes)
    outcome = scheduler.schedule(owned("p", "StickyJob", cpu=2, priority=9))
    assert isinstance(outcome, Unplaced)
    assert (outcome.nominate, outcome.victims) == ("n2", ("default/small-2",))


def test_preferring_gives_way_to_a_node_with_room() -> None:
    scheduler = FakeScheduler(sticky(), NodeResourcesFit(), cluster=three(FULL, objects=(job("n2"),)))
    assert node_of(scheduler.schedule(owned("p", "StickyJob", cpu=1))) in ("n1", "n3")


# ------------------------------------------------------------------------------------------------- all other owners


@pytest.mark.parametrize("mode", ["Prefer", "Require"])
@pytest.mark.parametrize("kind", ["Job", "ReplicaSet", "StatefulSet", "StickyJob", "VirtualMachineInstance"])
def test_a_pod_returns_to_the_node_of_its_predecessor(kind: str, mode: str) -> None:
    before = owned("p", kind, node="n3")
    nodes = three(before)
    scheduler = FakeScheduler(sticky({"mode": mode}), cluster=nodes)
    nodes.remove_pod(before)
    assert node_of(scheduler.schedule(owned("p", kind))) == "n3"


@pytest.mark.parametrize("mode", ["Prefer", "Require"])
def test_each_replica_of_a_stateful_set_returns_to_its_own_node(mode: str) -> None:
    pods = [owned(f"db-{i}", "StatefulSet", node=f"n{3 - i}") for i in range(3)]
    nodes = three(*pods)
    scheduler = FakeScheduler(sticky({"mode": mode}), cluster=nodes)
    for pod in pods:
        nodes.remove_pod(pod)
    back = {name: node_of(scheduler.schedule(owned(name, "StatefulSet"))) for name in ("db-1", "db-2", "db-0")}
    assert back == {"db-0": "n3", "db-1": "n2", "db-2": "n1"}


@pytest.mark.parametrize("mode", ["Prefer", "Require"])
def test_the_pods_of_a_deployment_return_to_the_nodes_that_it_has_left(mode: str) -> None:
    pods = [owned(f"web-{i}", "ReplicaSet", node=f"n{i}") for i in (1, 2, 3)]
    nodes = three(*pods)
    scheduler = FakeScheduler(sticky({"mode": mode}), cluster=nodes)
    for pod in pods[1:]:
        nodes.remove_pod(pod)
    back = {node_of(scheduler.schedule(owned(name, "ReplicaSet"))) for name in ("web-4", "web-5")}
    assert back == {"n2", "n3"}


def test_one_replica_more_has_no_predecessor_and_may_go_anywhere() -> None:
    nodes = three(owned("web-1", "ReplicaSet", node="n1", cpu=2))
    scheduler = FakeScheduler(sticky(REQUIRE), NodeResourcesFit(), cluster=nodes)
    assert node_of(scheduler.schedule(owned("web-2", "ReplicaSet", cpu=2))) in ("n2", "n3")


def test_a_daemon_goes_where_it_belongs() -> None:
    nodes = three()
    plugin = sticky(REQUIRE, left=(owned("d1", "DaemonSet", node="n1"),))
    assert filter_all(plugin, nodes, owned("d2", "DaemonSet")) == SKIP


def test_a_pod_on_its_way_out_when_the_plugin_starts_is_a_predecessor() -> None:
    going = owned("p", node="n2", metadata={"deletionTimestamp": "2026-01-01T11:00:00Z"})
    scheduler = FakeScheduler(sticky(REQUIRE), cluster=three(going))
    assert node_of(scheduler.schedule(owned("q"))) == "n2"


def test_what_was_seen_is_newer_than_what_is_written_down() -> None:
    plugin = sticky(left=(owned("p", "StickyJob", node="n3"),))
    nodes = three(objects=(job("n2"),))
    assert raw_scores(plugin, nodes, owned("q", "StickyJob")) == {"n1": 0, "n2": 0, "n3": 100}


# --------------------------------------------------------------------------------------------------------- how long


BEFORE = owned("p", node="n2")


@pytest.mark.parametrize(
    ("arguments", "seconds", "held"),
    [
        pytest.param({}, 10**9, True, id="a node is remembered for ever"),
        pytest.param({"rememberSeconds": 60}, 59, True, id="or for as long as it is told"),
        pytest.param({"rememberSeconds": 60}, 60, False, id="then it is forgotten"),
        pytest.param({"giveUpSeconds": 60}, 59, True, id="a pod waits for its node"),
        pytest.param({"giveUpSeconds": 60}, 60, False, id="then any node will do"),
        pytest.param({"rememberSeconds": 60, "giveUpSeconds": 30}, 40, False, id="whichever ends first"),
    ],
)
def test_how_long_a_pod_is_held(arguments: dict[str, int], seconds: float, held: bool) -> None:
    plugin, nodes = sticky(REQUIRE | arguments, left=(BEFORE,)), three()
    plugin._clock = lambda: NOON + seconds
    pod = owned("q")
    assert plugin.pre_filter(nodes.cycle(pod), pod) == (OnlyNodes(frozenset({"n2"})) if held else SKIP)


def test_a_pod_that_has_given_up_still_likes_its_node() -> None:
    plugin = sticky(REQUIRE | {"giveUpSeconds": 60}, now=NOON + 100, left=(BEFORE,))
    assert score_all(plugin, three(), owned("q")) == {"n1": 0, "n2": 100, "n3": 0}


def test_a_node_that_is_forgotten_is_liked_no_more() -> None:
    plugin = sticky({"rememberSeconds": 60}, left=(BEFORE,))
    plugin._clock = lambda: NOON + 60
    assert score_all(plugin, three(), owned("q")) == SKIP


@pytest.mark.parametrize(
    ("arguments", "again"),
    [
        pytest.param({}, None, id="not by time alone"),
        pytest.param({"giveUpSeconds": 60}, NOON + 60, id="when it gives up"),
        pytest.param({"rememberSeconds": 90}, NOON + 90, id="when the node is forgotten"),
        pytest.param({"rememberSeconds": 90, "giveUpSeconds": 60}, NOON + 60, id="when the first of both is due"),
    ],
)
def test_when_a_pod_that_waits_for_its_node_is_tried_again(arguments: dict[str, int], again: float | None) -> None:
    plugin = sticky(REQUIRE | arguments, left=(BEFORE,))
    outcome = FakeScheduler(plugin, NodeResourcesFit(), cluster=three(FULL)).schedule(owned("q", cpu=1))
    assert isinstance(outcome, Unplaced)
    assert outcome.again_at == again


def test_preferring_needs_no_other_try() -> None:
    everywhere = [make_pod(f"full-{i}", node=f"n{i}", cpu=2) for i in (1, 2, 3)]
    plugin = sticky({"rememberSeconds": 9}, left=(BEFORE,))
    outcome = FakeScheduler(plugin, NodeResourcesFit(), cluster=three(*everywhere)).schedule(owned("q", cpu=1))
    assert isinstance(outcome, Unplaced)
    assert (outcome.again_at, set(outcome.rejected_by)) == (None, {"NodeResourcesFit"})


@pytest.mark.parametrize("created", [None, "yesterday", "0000-99-99T00:00:00Z"])
def test_a_pod_of_an_unknown_age_waits(created: str | None) -> None:
    plugin, pod = (
        sticky(REQUIRE | {"giveUpSeconds": 1}, left=(BEFORE,)),
        owned("q", metadata={"creationTimestamp": created}),
    )
    assert plugin.pre_filter(three().cycle(pod), pod) == OnlyNodes(frozenset({"n2"}))


def test_a_node_that_is_gone_holds_nobody() -> None:
    nodes = three()
    scheduler = FakeScheduler(sticky(REQUIRE, left=(BEFORE,)), cluster=nodes)
    nodes.cache.remove_node("n2")
    assert node_of(scheduler.schedule(owned("q"))) in ("n1", "n3")


# -------------------------------------------------------------------------------------------------------------- rest

ANY = Event(Resource.NODE, Action.ADD)


@pytest.mark.parametrize(("name", "helps"), [("n2", True), ("n1", False)])
def test_a_node_that_comes_or_goes(name: str, helps: bool) -> None:
    plugin, node = sticky(REQUIRE, left=(BEFORE,)), make_node(name)
    assert plugin.home_came_or_went(owned("q"), ANY, None, node) is helps
    assert plugin.home_came_or_went(owned("q"), ANY, node, None) is helps
    assert plugin.home_came_or_went(make_pod(), ANY, node, None) is False


@pytest.mark.parametrize(
    ("other", "helps"),
    [
        pytest.param(owned("r", node="n1"), True, id="a pod of the same owner"),
        pytest.param(owned("r", owner="other", node="n1"), False, id="one of another"),
        pytest.param(make_pod("r", node="n1"), False, id="one of nobody"),
    ],
)
def test_a_pod_that_comes_or_goes(other: Pod, helps: bool) -> None:
    assert sticky(REQUIRE).kin_came_or_went(owned("q"), ANY, None, other) is helps
    assert sticky(REQUIRE).kin_came_or_went(owned("q"), ANY, other, None) is helps


@pytest.mark.parametrize(
    ("old", "new", "helps"),
    [
        pytest.param(job("n1"), job("n2"), True, id="another node"),
        pytest.param(job("n1"), None, True, id="the job is gone"),
        pytest.param(None, job("n1"), True, id="the job is new"),
        pytest.param(job("n1"), job("n1"), False, id="the same node"),
        pytest.param(job("n1", "other"), job("n2", "other"), False, id="another job"),
    ],
)
def test_a_job_that_changes(old: StickyJob | None, new: StickyJob | None, helps: bool) -> None:
    assert sticky(REQUIRE).job_moved(owned("q", "StickyJob"), ANY, old, new) is helps


@pytest.mark.parametrize(
    ("resource", "action", "waited_for"),
    [
        (Resource.NODE, Action.ADD, True),
        (Resource.NODE, Action.DELETE, True),
        (Resource.NODE, Action.UPDATE_NODE_ALLOCATABLE, False),
        (Resource.ASSIGNED_POD, Action.ADD, True),
        (Resource.ASSIGNED_POD, Action.DELETE, True),
        (Resource.ASSIGNED_POD, Action.UPDATE_POD_LABEL, False),
        (StickyJob, Action.UPDATE, True),
    ],
)
def test_what_is_waited_for(resource: Resource, action: Action, waited_for: bool) -> None:
    assert any(retry.matches(Event(resource, action)) for retry in Sticky.retry_on) is waited_for


def test_defaults() -> None:
    read = Sticky.read_arguments({}, AT)
    assert (read.value, read.faults) == ({"mode": "Prefer", "rememberSeconds": 0, "giveUpSeconds": 0}, ())


@pytest.mark.parametrize(
    ("given", "stage", "told"),
    [
        pytest.param(
            {"mode": "require"},
            Stage.VALIDATION,
            'profiles[0].pluginConfig[1].args.mode: Unsupported value: "require": supported values: "Prefer"',
            id="an unknown mode",
        ),
        pytest.param(
            {"rememberSeconds": -1},
            Stage.VALIDATION,
            "profiles[0].pluginConfig[1].args.rememberSeconds: Invalid value: -1: not in valid range [0, inf)",
            id="less than nothing to remember",
        ),
        pytest.param(
            {"giveUpSeconds": -5},
            Stage.VALIDATION,
            "profiles[0].pluginConfig[1].args.giveUpSeconds: Invalid value: -5: not in valid range [0, inf)",
            id="less than nothing to wait",
        ),
        pytest.param({"giveUp": 5}, Stage.STRICTNESS, 'unknown field "giveUp"', id="another field"),
    ],
)
def test_faults(given: dict[str, object], stage: Stage, told: str) -> None:
    fault = Sticky.read_arguments(given, AT).faults[0]
    assert fault.stage is stage
    assert fault.text.startswith(told)


@given(st.sampled_from(["Prefer", "Require"]), st.sets(st.integers(1, 9)), st.integers(0, 6), st.integers(0, 99))
def test_both_forms_agree(mode: str, left: set[int], count: int, age: int) -> None:
    nodes = FakeCluster([make_node(f"n{i}") for i in range(count)])
    plugin = sticky({"mode": mode, "rememberSeconds": 50}, left=tuple(owned(f"p{i}", node=f"n{i}") for i in left))
    plugin._clock = lambda: NOON + age
    homes = {f"n{i}" for i in left if i < count} if age < 50 else set()
    found = filter_all(plugin, nodes, owned("q"))
    held = homes and mode == "Require"
    assert found == ({f"n{i}": None if f"n{i}" in homes else ELSEWHERE for i in range(count)} if held else SKIP)
    scores = raw_scores(plugin, nodes, owned("q"))
    assert scores == ({f"n{i}": 100 * (f"n{i}" in homes) for i in range(count)} if homes else SKIP)


# ------------------------------------------------------------------------------------------------- what people are told


def test_a_rejection_tells_where_the_pod_must_return_to() -> None:
    plugin = sticky(REQUIRE, left=tuple(owned(f"o{i}", node=f"n{i}") for i in (1, 2)))
    found = FakeScheduler(plugin, cluster=three()).explain(owned("p")).nodes
    assert [(node.node, node.details) for node in found if node.rejection] == [("n3", ("returns to n1, n2",))]


def test_what_somebody_else_has_seen_counts_in_place_of_its_own() -> None:
    plugin, pod = sticky(REQUIRE, left=(owned("o", node="n1"),)), owned("p")
    plugin.recall(pod, [Stay("x", "n3", NOON - 60, NOON - 30)])
    assert node_of(FakeScheduler(plugin, cluster=three()).schedule(pod)) == "n3"
