"""PreemptionToleration: which pods are spared, from whom and for how long."""

import logging
import time
from datetime import UTC, datetime
from math import inf
from typing import Any

import pytest

from pilotage.config.faults import Stage
from pilotage.kinds.workloads import PriorityClass
from pilotage.model.metadata import Metadata
from pilotage.model.pod import Pod
from pilotage.plugins.preemption.default_preemption import DefaultPreemption
from pilotage.plugins.preemption.preemption_toleration import (
    MINIMUM,
    NOT_SPARED,
    SECONDS,
    Policy,
    PreemptionToleration,
    UnreadablePolicy,
)
from pilotage.plugins.resources.node_resources_fit import NodeResourcesFit
from pilotage.scheduling.outcome import Unplaced
from pilotage.testing import FakeCluster, FakeScheduler, make_node, make_pod

AT = ("profiles", 0, "pluginConfig", 1, "args")
NOON = 1_767_268_800.0  # 2026-01-01T12:00:00Z


def priority_class(
    minimum: str | None = None, seconds: str | None = None, *, value: int = 100, name: str = "batch"
) -> PriorityClass:
    given = {MINIMUM: minimum, SECONDS: seconds}
    annotations = {key: text for key, text in given.items() if text is not None}
    return PriorityClass(Metadata(name, annotations=annotations), value)


def running(
    seconds_ago: int | None, name: str = "victim", *, of: str = "batch", node: str = "n1", **fields: Any
) -> Pod:
    """Return a pod of a priority class that got its node so long before noon, or is about to get it."""
    conditions = []
    if seconds_ago is not None:
        at = datetime.fromtimestamp(NOON - seconds_ago, UTC).isoformat()
        conditions = [{"type": "PodScheduled", "status": "True", "lastTransitionTime": at}]
    defaults: dict[str, Any] = {"priority": 100, "cpu": 4, "status": {"conditions": conditions}}
    return make_pod(name, node=node, priority_class=of, **(defaults | fields))


@pytest.fixture(autouse=True)
def _noon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: NOON)


def preempt(*pods: Pod, policy: PriorityClass | None, priority: int = 199, **arguments: Any) -> Unplaced:
    """Try to make room for a pod on nodes that the others fill."""
    nodes = [make_node(name, cpu=4) for name in dict.fromkeys(pod.node_name for pod in pods)]
    cluster = FakeCluster(nodes, pods, () if policy is None else (policy,))
    plugin = PreemptionToleration.of(arguments)
    outcome = FakeScheduler(NodeResourcesFit(), plugin, cluster=cluster).schedule(make_pod(cpu=4, priority=priority))
    assert isinstance(outcome, Unplaced)
    return outcome


# ---------------------------------------------------------------------------------------------- the policy of a class


@pytest.mark.parametrize(
    ("given", "policy"),
    [
        pytest.param(priority_class(value=1), Policy(2, 0), id="without annotations"),
        pytest.param(priority_class("100", "10", value=1), Policy(100, 10), id="with both"),
        pytest.param(priority_class("-5", "-1"), Policy(-5, -1), id="negative numbers"),
        pytest.param(priority_class("+7", "007"), Policy(7, 7), id="as Go reads them"),
        pytest.param(priority_class(str(2**31 - 1), str(2**63 - 1)), Policy(2**31 - 1, 2**63 - 1), id="the largest"),
    ],
)
def test_policies(given: PriorityClass, policy: Policy) -> None:
    assert Policy.of(given) == policy


@pytest.mark.parametrize(
    ("minimum", "seconds", "told"),
    [
        pytest.param("a", None, 'strconv.ParseInt: parsing "a": invalid syntax', id="no number"),
        pytest.param(None, "a", 'strconv.ParseInt: parsing "a": invalid syntax', id="no number of seconds"),
        pytest.param("", None, 'strconv.ParseInt: parsing "": invalid syntax', id="empty"),
        pytest.param("1_0", None, 'strconv.ParseInt: parsing "1_0": invalid syntax', id="Python's own way"),
        pytest.param("٣", None, 'strconv.ParseInt: parsing "٣": invalid syntax', id="digits of another script"),
        pytest.param(
            str(2**31), None, 'strconv.ParseInt: parsing "2147483648": value out of range', id="more than 32 bits"
        ),
        pytest.param(
            None,
            str(2**63),
            'strconv.ParseInt: parsing "9223372036854775808": value out of range',
            id="more than 64 bits",
        ),
        pytest.param(
            "9" * 100_000, None, f'strconv.ParseInt: parsing "{"9" * 80}": value out of range', id="a very long number"
        ),
    ],
)
def test_policies_that_cannot_be_read(minimum: str | None, seconds: str | None, told: str) -> None:
    with pytest.raises(UnreadablePolicy) as caught:
        Policy.of(priority_class(minimum, seconds))
    assert str(caught.value) == told


# -------------------------------------------------------------------------------------------------------- who is spared


@pytest.mark.parametrize(
    ("policy", "victim", "priority", "evicted"),
    [
        pytest.param(priority_class("200", "0"), running(10), 200, True, id="a preemptor of the minimum"),
        pytest.param(priority_class("200", "-1"), running(10), 201, True, id="and above it"),
        pytest.param(priority_class("200", "0"), running(10), 199, True, id="below it, without a toleration"),
        pytest.param(priority_class("200", "-1"), running(101), 199, False, id="spared for ever"),
        pytest.param(priority_class("200", "100"), running(101), 199, True, id="the time is over"),
        pytest.param(priority_class("200", "100"), running(100), 199, True, id="the very moment it ends"),
        pytest.param(priority_class("200", "100"), running(10), 199, False, id="spared for a time"),
        pytest.param(priority_class("200", "0"), running(None), 199, False, id="on its way to its node"),
        pytest.param(
            priority_class("200", "100"),
            running(
                None,
                status={"conditions": [{"type": "PodScheduled", "status": "True", "lastTransitionTime": "soon"}]},
            ),
            199,
            True,
            id="placed nobody knows when",
        ),
        pytest.param(None, running(10), 199, True, id="the class is gone"),
        pytest.param(
            priority_class("200", "-1", name="other"), running(10), 199, True, id="the policy of another class"
        ),
        pytest.param(priority_class("a", "-1"), running(10), 199, True, id="a policy that cannot be read"),
        pytest.param(priority_class("200", "-1"), running(10, of=""), 199, True, id="a pod without a class"),
        pytest.param(priority_class(), running(10), 101, True, id="without annotations one more is enough"),
    ],
)
def test_who_is_spared(policy: PriorityClass | None, victim: Pod, priority: int, evicted: bool) -> None:
    outcome = preempt(victim, policy=policy, priority=priority)
    assert (outcome.nominate, outcome.victims) == (("n1", ("default/victim",)) if evicted else ("", ()))


def test_nobody_is_evicted_for_a_pod_that_never_preempts() -> None:
    cluster = FakeCluster(objects=[priority_class("0", "0")])
    plugin, never = PreemptionToleration(), make_pod(priority=500, spec={"preemptionPolicy": "Never"})
    assert plugin.spared_until(cluster.cache.objects, running(10), never) == inf
    assert plugin.spared_until(cluster.cache.objects, running(10), make_pod(priority=500)) == NOT_SPARED
    nodes = FakeCluster([make_node("n1", cpu=4)], [running(10)])
    outcome = FakeScheduler(NodeResourcesFit(), plugin, cluster=nodes).schedule(
        make_pod(cpu=4, priority=500, spec={"preemptionPolicy": "Never"})
    )
    assert isinstance(outcome, Unplaced)
    assert outcome.message.endswith("preemption: not eligible due to preemptionPolicy=Never.")


def test_others_on_the_node_go_in_their_stead() -> None:
    spared, other = running(10, cpu=2), make_pod("other", node="n1", cpu=2, priority=0)
    nodes = FakeCluster([make_node("n1", cpu=4)], [spared, other], [priority_class("200", "100")])
    outcome = FakeScheduler(NodeResourcesFit(), PreemptionToleration(), cluster=nodes).schedule(
        make_pod(cpu=2, priority=199)
    )
    assert isinstance(outcome, Unplaced)
    assert outcome.victims == ("default/other",)


def test_another_node_is_freed_instead() -> None:
    outcome = preempt(running(10), running(200, "old", node="n2"), policy=priority_class("200", "100"))
    assert (outcome.nominate, outcome.victims) == ("n2", ("default/old",))


def test_whose_class_changes_is_spared_no_more() -> None:
    nodes = FakeCluster([make_node("n1", cpu=4)], [running(10)], [priority_class("200", "-1")])
    scheduler = FakeScheduler(NodeResourcesFit(), PreemptionToleration(), cluster=nodes)
    first = scheduler.schedule(make_pod(cpu=4, priority=199))
    nodes.cache.objects.put(priority_class("200", "5"))
    second = scheduler.schedule(make_pod(cpu=4, priority=199))
    assert isinstance(first, Unplaced)
    assert isinstance(second, Unplaced)
    assert (first.victims, second.victims) == ((), ("default/victim",))


def test_namespaces_can_be_excluded() -> None:
    outcome = preempt(
        running(10, namespace="kube-system"),
        running(10, "b", node="n2"),
        policy=None,
        excludedNamespaces=["kube-system"],
    )
    assert outcome.victims == ("default/b",)


def test_pods_are_spared_by_other_plugins_that_evict_too() -> None:
    nodes = FakeCluster([make_node("n1", cpu=4)], [running(10)], [priority_class("200", "100")])
    scheduler = FakeScheduler(NodeResourcesFit(), DefaultPreemption(), PreemptionToleration(), cluster=nodes)
    outcome = scheduler.schedule(make_pod(cpu=4, priority=199))
    assert isinstance(outcome, Unplaced)
    assert outcome.victims == ()


# ------------------------------------------------------------------------------------------------------- what is said


def test_what_is_said_when_all_are_spared() -> None:
    assert preempt(running(10), policy=priority_class("200", "-1")).message == (
        "0/1 nodes are available: 1 Insufficient cpu. "
        "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
    )


@pytest.mark.parametrize(
    ("pods", "seconds", "again"),
    [
        pytest.param([running(10)], "100", NOON + 90, id="when the toleration ends"),
        pytest.param([running(10), running(40, "b", node="n2")], "100", NOON + 60, id="when the first of several ends"),
        pytest.param([running(10)], "-1", None, id="never, for one that has no end"),
        pytest.param([running(None)], "100", None, id="not by time, for one whose time has not begun"),
        pytest.param([running(200)], "100", None, id="not, if room is made"),
        pytest.param([running(10, priority=199)], "100", None, id="not for pods that are no victims anyway"),
    ],
)
def test_when_the_preemptor_is_tried_again(pods: list[Pod], seconds: str, again: float | None) -> None:
    assert preempt(*pods, policy=priority_class("200", seconds)).again_at == again


def test_a_policy_that_cannot_be_read_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    nodes = FakeCluster([make_node("n1", cpu=4)], [running(10)], [priority_class("a")])
    scheduler = FakeScheduler(NodeResourcesFit(), PreemptionToleration(), cluster=nodes)
    for _ in range(3):
        scheduler.schedule(make_pod(cpu=4, priority=199))
    told = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert told == [
        'PriorityClass batch: strconv.ParseInt: parsing "a": invalid syntax; its pods are not spared',
    ]


# ---------------------------------------------------------------------------------------------------------- arguments


def test_defaults() -> None:
    read = PreemptionToleration.read_arguments({}, AT)
    expected = {"minCandidateNodesPercentage": 10, "minCandidateNodesAbsolute": 100, "excludedNamespaces": []}
    assert (read.value, read.faults) == (expected, ())


@pytest.mark.parametrize(
    ("given", "told"),
    [
        pytest.param(
            {"minCandidateNodesPercentage": 101},
            "minCandidateNodesPercentage: Invalid value: 101: not in valid range [0, 100]",
            id="more than all",
        ),
        pytest.param(
            {"minCandidateNodesAbsolute": -1},
            "minCandidateNodesAbsolute: Invalid value: -1: not in valid range [0, inf)",
            id="less than none",
        ),
        pytest.param(
            {"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 0},
            "minCandidateNodesPercentage: Invalid value: 0: "
            "cannot be zero at the same time as minCandidateNodesAbsolute",
            id="both zero",
        ),
    ],
)
def test_faults(given: dict[str, object], told: str) -> None:
    fault = PreemptionToleration.read_arguments(given, AT).faults[0]
    assert fault.stage is Stage.VALIDATION
    assert fault.text == f"profiles[0].pluginConfig[1].args.{told}"


@pytest.mark.parametrize(
    ("policy", "pods", "told"),
    [
        pytest.param(
            priority_class("200", "600"),
            [running(60)],
            "PreemptionToleration spares default/victim until 2026-01-01T12:09:00Z",
            id="a time",
        ),
        pytest.param(
            priority_class("200", "-1"),
            [running(60)],
            "PreemptionToleration spares default/victim without end",
            id="no end",
        ),
        pytest.param(priority_class("200", "10"), [running(60)], "", id="its time is over"),
        pytest.param(priority_class("150", "600"), [running(60)], "", id="it has a lower minimum"),
        pytest.param(
            priority_class("200", "600"),
            [running(number, f"v{number}", cpu=1) for number in (10, 20, 30, 40)],
            "PreemptionToleration spares default/v40 until 2026-01-01T12:09:20Z, "
            "default/v30 until 2026-01-01T12:09:30Z and 2 more",
            id="of many the first to be spared no more",
        ),
        pytest.param(priority_class("200", "600"), [running(60, priority=199)], "", id="as important as the pod"),
    ],
)
def test_people_are_told_who_is_spared_and_until_when(policy: PriorityClass, pods: list[Pod], told: str) -> None:
    cluster = FakeCluster([make_node("n1", cpu=4)], pods, [policy])
    scheduler = FakeScheduler(NodeResourcesFit(), PreemptionToleration(), cluster=cluster)
    (verdict,) = scheduler.explain(make_pod("preemptor", cpu=4, priority=199)).nodes
    assert verdict.spared == told


def test_people_are_told_of_excluded_namespaces() -> None:
    cluster = FakeCluster([make_node("n1", cpu=4)], [running(60, of="")])
    plugin = PreemptionToleration.of({"excludedNamespaces": ["default"]})
    (verdict,) = FakeScheduler(NodeResourcesFit(), plugin, cluster=cluster).explain(make_pod(cpu=4, priority=199)).nodes
    assert verdict.spared == "PreemptionToleration spares default/victim without end"
