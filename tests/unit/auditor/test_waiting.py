from typing import Any

import pytest

from auditor.testing import (
    DELETING,
    GATED,
    Raw,
    Step,
    World,
    gone,
    listed,
    missed,
    node,
    passes,
    pod,
    seen,
    told,
    unseen,
)

SPREAD: Raw = {"topologySpreadConstraints": [{"whenUnsatisfiable": "DoNotSchedule"}]}
SOFT_SPREAD: Raw = {"topologySpreadConstraints": [{"whenUnsatisfiable": "ScheduleAnyway"}]}
TAINT: Raw = {"taints": [{"key": "x", "effect": "NoSchedule"}]}
WISH: Raw = {"taints": [{"key": "x", "effect": "PreferNoSchedule"}]}
PORT: Raw = {"containers": [{"name": "main", "ports": [{"hostPort": 80}]}]}


def required(kind: str, selector: Raw | None = None, **term: Any) -> Raw:
    terms = [{"labelSelector": selector or {}, **term}]
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


def nominated(name: str, cpu: str, priority: int) -> Step:
    return seen(pod(name, cpu=cpu, priority=priority, status={"nominatedNodeName": "n1"}))


LIMIT = 60
LONG = passes(LIMIT + 10)


@pytest.mark.parametrize(
    ("history", "waits"),
    [
        pytest.param([seen(node()), seen(pod()), LONG], "a", id="it fits and is not bound"),
        pytest.param([seen(node()), seen(pod()), passes(LIMIT - 2)], "", id="the limit is not reached"),
        pytest.param([seen(node()), seen(pod()), passes(50), seen(pod(node="n1")), LONG], "", id="it is bound in time"),
        pytest.param([seen(node()), seen(pod(cpu="3")), LONG], "", id="it fits nowhere"),
        pytest.param([seen(pod()), LONG], "", id="there is no node"),
        pytest.param([seen(node()), seen(pod("b", "n1", cpu="2")), seen(pod()), LONG], "", id="the node is full"),
        pytest.param(
            [seen(node()), seen(pod("b", "n1", cpu="2")), seen(pod()), LONG, gone("b"), passes(50)],
            "",
            id="room came lately",
        ),
        pytest.param(
            [seen(node()), seen(pod("b", "n1", cpu="2")), seen(pod()), LONG, gone("b"), LONG],
            "a",
            id="room came long ago",
        ),
        pytest.param(
            [seen(node()), seen(pod()), passes(40), seen(pod("b", "n1", cpu="2")), passes(5), gone("b"), passes(40)],
            "",
            id="there was no room for a while in between",
        ),
        pytest.param(
            [seen(node()), seen(node("n2")), seen(pod()), passes(40), seen(pod("b", "n1", cpu="2")), passes(40)],
            "a",
            id="there was always room, on one node or another",
        ),
        pytest.param(
            [seen(node(pods="1")), seen(pod("b", "n1", cpu="0")), seen(pod()), LONG], "", id="no pod slot is free"
        ),
        pytest.param([seen(node()), seen(pod(**GATED)), LONG], "", id="it is gated"),
        pytest.param(
            [seen(node()), seen(pod(**GATED)), LONG, seen(pod()), passes(50)], "", id="it was gated until lately"
        ),
        pytest.param([seen(node()), seen(pod(meta=DELETING)), LONG], "", id="it is being deleted"),
        pytest.param([seen(node()), seen(pod(status={"phase": "Failed"})), LONG], "", id="it has failed"),
        pytest.param([seen(node()), seen(pod(schedulerName="stranger")), LONG], "", id="nobody serves it"),
        pytest.param([seen(node(**TAINT)), seen(pod()), LONG], "", id="the node is tainted"),
        pytest.param([seen(node(**WISH)), seen(pod()), LONG], "a", id="a soft taint is no reason"),
        pytest.param(
            [seen(node(**TAINT)), seen(pod(tolerations=[{"operator": "Exists"}])), LONG], "a", id="it endures the taint"
        ),
        pytest.param([seen(node(unschedulable=True)), seen(pod()), LONG], "", id="the node is cordoned"),
        pytest.param([seen(node(meta=DELETING)), seen(pod()), LONG], "", id="the node is going"),
        pytest.param(
            [seen(node() | {"status": {"allocatable": {"cpu": "9", "pods": "9"}}}), seen(pod()), LONG],
            "",
            id="the node is not ready",
        ),
        pytest.param(
            [seen(node()), seen(pod(nodeSelector={"zone": "a"})), LONG], "", id="the node is not what it wants"
        ),
        pytest.param(
            [seen(node(meta={"labels": {"zone": "a"}})), seen(pod(nodeSelector={"zone": "a"})), LONG],
            "a",
            id="the node is what it wants",
        ),
        pytest.param(
            [seen(node()), seen(pod("b", "n1", **PORT)), seen(pod(**PORT)), LONG], "", id="its host port is taken"
        ),
        pytest.param([seen(node()), seen(pod(**PORT)), LONG], "a", id="its host port is free"),
        pytest.param(
            [seen(node()), nominated("b", "2", 9), seen(pod()), LONG], "b", id="the room is nominated for a higher one"
        ),
        pytest.param(
            [seen(node()), nominated("b", "2", -9), seen(pod()), LONG],
            "a b",
            id="the room is nominated for a lower one",
        ),
        pytest.param([seen(node()), nominated("a", "2", 0), LONG], "a", id="the room is nominated for itself"),
        pytest.param([seen(node()), seen(pod(**SOFT_SPREAD)), LONG], "a", id="a soft spread is no reason"),
        pytest.param([seen(node()), seen(pod()), unseen(200)], "", id="nobody could see anything meanwhile"),
        pytest.param(
            [seen(node()), seen(pod()), passes(40), unseen(200), passes(10)], "", id="unseen time does not count"
        ),
        pytest.param([seen(node()), seen(pod()), passes(40), unseen(200), passes(40)], "a", id="seen time adds up"),
        pytest.param(
            [seen(node()), seen(pod()), passes(30), missed(pod(node="n1")), LONG],
            "",
            id="a stalled watch hid the binding",
        ),
        pytest.param(
            [seen(node()), seen(pod()), passes(30), missed(pod("b", "n1", cpu="2")), LONG],
            "",
            id="a stalled watch hid that the node is full",
        ),
        pytest.param(
            [seen(node()), seen(pod()), passes(30), listed(), passes(50)], "a", id="a new list changes nothing"
        ),
    ],
)
def test_waits_though_fits(history: list[Step], waits: str) -> None:
    world = told(history, wait_limit=LIMIT, serves=["me=default-scheduler"])
    assert set(world.rules) <= {"waits-though-fits", "overcommit"}
    assert sorted(found.pod for found in world.found if found.rule == "waits-though-fits") == waits.split()


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(required("podAffinity"), id="it wants neighbours"),
        pytest.param(required("podAntiAffinity"), id="it shuns neighbours"),
        pytest.param(SPREAD, id="it must be spread"),
        pytest.param({"volumes": [{"name": "v", "persistentVolumeClaim": {}}]}, id="it has a claimed volume"),
        pytest.param({"volumes": [{"name": "v", "ephemeral": {}}]}, id="it has a volume that becomes a claim"),
        pytest.param({"volumes": [{"name": "v", "awsElasticBlockStore": {}}]}, id="it has a volume of a place"),
        pytest.param({"resourceClaims": [{"name": "gpu"}]}, id="it claims devices"),
        pytest.param({"meta": {"labels": {"scheduling.x-k8s.io/pod-group": "g"}}}, id="it is one of a group"),
        pytest.param({"meta": {"labels": {"pod-group.pilotage.dev/name": "g"}}}, id="it is one of our groups"),
        pytest.param({"schedulingGroup": {"podGroupName": "g"}}, id="it is one of a native group"),
        pytest.param({"workloadRef": {"name": "w"}}, id="it is part of a workload"),
    ],
)
def test_unjudged(spec: Raw) -> None:
    world = told([seen(node()), seen(pod(**spec)), LONG])
    assert world.rules == []
    assert world.ledger.seen["unjudged"] == 1


PLAIN_VOLUMES: Raw = {"volumes": [{"name": "v", "configMap": {}}, {"name": "w", "projected": {}}]}


def test_plain_volumes_do_not_hinder_judgement() -> None:
    assert told([seen(node()), seen(pod(**PLAIN_VOLUMES)), LONG]).rules == ["waits-though-fits"]


@pytest.mark.parametrize(
    ("term", "rules"),
    [
        pytest.param({"selector": {"matchLabels": {"app": "x"}}}, [], id="it may mean the waiting pod"),
        pytest.param({"selector": {"matchLabels": {"app": "y"}}}, ["waits-though-fits"], id="it means others"),
        pytest.param({"namespaces": ["other"]}, ["waits-though-fits"], id="it means another namespace"),
        pytest.param({"namespaceSelector": {}, "namespaces": ["other"]}, [], id="it may mean any namespace"),
    ],
)
def test_others_anti_affinity(term: Raw, rules: list[str]) -> None:
    hermit = pod("hermit", "n2", **required("podAntiAffinity", **term))
    history = [seen(node()), seen(node("n2")), seen(hermit), seen(pod(meta={"labels": {"app": "x"}}))]
    assert told([*history, LONG]).rules == rules
    assert told([*history, LONG, gone("hermit"), passes(50)]).rules == rules
    assert told([*history, LONG, gone("hermit"), LONG]).rules == ["waits-though-fits"]


def test_the_longest_wait_is_told() -> None:
    world = told([seen(node()), seen(pod()), passes(40), seen(pod(node="n1")), passes(100)])
    assert 38 <= world.ledger.seen["longestWaitSeconds"] <= 41


def test_what_is_not_looked_at_in_time_is_looked_at_first_next_time() -> None:
    world = World(wait_limit=5)
    world.see(node(cpu="1000"))
    for i in range(10):
        world.see(pod(f"p{i}", cpu=f"{i + 1}m"))
    for _ in range(30):
        world.now += 1
        world.ledger.tick(world.now, in_sight=True)
        turns = iter([False, True])
        world.ledger.check_waiting(world.now, lambda turns=turns: next(turns, True))  # type: ignore[misc]
    world.close()
    assert sorted(found.pod for found in world.found) == [f"p{i}" for i in range(10)]
