"""Answers out of objects alone: what waits, what belongs together, what differs, what is stranded, what is wrong."""

from typing import Any

import pytest

from pilotage.views.objects import waiting
from pilotage.views.objects.differences import differences
from pilotage.views.objects.findings import FAULT, OK, WARNING, Facts, findings
from pilotage.views.objects.fullness import stranded
from pilotage.views.objects.health import is_lost

SAID = "0/9 nodes are available: 1 node(s) had untolerated taint(s), 8 Insufficient cpu. preemption: 0/9 nodes."


def pod(name: str = "web", owner: tuple[str, str] | None = None, **more: Any) -> dict[str, Any]:
    reference = [{"kind": owner[0], "name": owner[1], "controller": True}] if owner else []
    labels = {"pod-template-hash": "77c9", **more.pop("labels", {})}
    metadata = {"name": name, "namespace": "shop", "labels": labels, "ownerReferences": reference}
    return {"metadata": metadata, "spec": more.pop("spec", {}), "status": more.pop("status", {})}


@pytest.mark.parametrize(
    ("manifest", "waits"),
    [
        pytest.param(pod(), True, id="a new one"),
        pytest.param(pod(spec={"nodeName": "n1"}), False, id="one with a node"),
        pytest.param(pod(status={"phase": "Failed"}), False, id="one that failed"),
    ],
)
def test_who_waits(manifest: dict[str, Any], waits: bool) -> None:
    assert waiting.waits(manifest) is waits


@pytest.mark.parametrize(
    ("text", "summary", "plugins"),
    [
        pytest.param(
            SAID,
            "Insufficient cpu, node(s) had untolerated taint(s)",
            ["TaintToleration", "NodeResourcesFit"],
            id="reasons with numbers",
        ),
        pytest.param(
            'persistentvolumeclaim "data" not found',
            'persistentvolumeclaim "data" not found',
            ["VolumeBinding"],
            id="one",
        ),
        pytest.param("", "", [], id="none"),
    ],
)
def test_what_a_message_comes_to(text: str, summary: str, plugins: list[str]) -> None:
    assert (waiting.summary(text), waiting.plugins_in(text)) == (summary, plugins)


@pytest.mark.parametrize(
    ("kind", "name", "manifest"),
    [
        pytest.param("deployment", "web", pod(owner=("ReplicaSet", "web-77c9")), id="a deployment by its hash"),
        pytest.param("replicaset", "web-77c9", pod(owner=("ReplicaSet", "web-77c9")), id="a replica set"),
        pytest.param("job", "train", pod(owner=("Job", "train")), id="a job"),
        pytest.param("cronjob", "nightly", pod(owner=("Job", "nightly-2911")), id="a cron job by its job's name"),
        pytest.param("podgroup", "g", pod(labels={"scheduling.x-k8s.io/pod-group": "g"}), id="a group by a label"),
        pytest.param("podgroup", "g", pod(spec={"schedulingGroup": {"podGroupName": "g"}}), id="a group of Kubernetes"),
    ],
)
def test_whose_pod_it_is(kind: str, name: str, manifest: dict[str, Any]) -> None:
    assert waiting.members([manifest, pod("other")], kind, name) == [manifest]
    assert waiting.members([manifest], kind, "another") == []


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": 2, "b": 3}, [("a", 1, 2), ("b", None, 3)]),
        ({"a": {"b": [1]}}, {"a": {"b": [2]}}, [("a.b", [1], [2])]),
        ([{"name": "x", "w": 1}], [{"name": "x", "w": 2}], [("x.w", 1, 2)]),
    ],
)
def test_what_differs(before: Any, after: Any, found: list[tuple[str, Any, Any]]) -> None:
    assert [(each["path"], each["from"], each["to"]) for each in differences(before, after)] == found


@pytest.mark.parametrize(
    ("asked", "pods", "left"),
    [
        pytest.param({"cpu": 95, "memory": 10}, 1, {"memory": 90}, id="cpu has run out"),
        pytest.param({"cpu": 10, "memory": 10}, 10, {"cpu": 90, "memory": 90}, id="places have run out"),
        pytest.param({"cpu": 94, "memory": 10}, 1, {}, id="nothing has"),
        pytest.param({"cpu": 100, "memory": 100}, 1, {}, id="everything has"),
    ],
)
def test_what_nobody_can_use(asked: dict[str, int], pods: int, left: dict[str, int]) -> None:
    assert stranded({"cpu": 100, "memory": 100}, asked, pods, 10) == left


@pytest.mark.parametrize(
    ("reason", "lost"), [("Waiting", False), ("Acknowledged", False), ("NotAccepted", True), ("RolledBack", True)]
)
def test_when_waiting_is_of_no_use(reason: str, lost: bool) -> None:
    ready = {"type": "Ready", "status": "True" if reason == "Acknowledged" else "False", "reason": reason}
    profile = {"metadata": {"generation": 2}, "status": {"observedGeneration": 2, "conditions": [ready]}}
    assert is_lost([profile]) is lost
    assert not is_lost([{**profile, "metadata": {"generation": 3}}])


@pytest.mark.parametrize(
    ("facts", "check", "state"),
    [
        pytest.param({"server": "v1.30.0"}, "server", FAULT, id="an old server"),
        pytest.param({"server": "v1.99.0"}, "server", WARNING, id="a server of the future"),
        pytest.param({"server": "v1.37.0", "kubectl": "v1.32.0"}, "kubectl", WARNING, id="an old kubectl"),
        pytest.param({"clock": 3.0}, "clock", OK, id="clocks agree"),
        pytest.param({"clock": -8.0}, "clock", WARNING, id="clocks differ"),
        pytest.param({"clock": 90.0}, "clock", FAULT, id="clocks differ a lot"),
        pytest.param({"certificates": {"yours": -1.0}}, "certificate", FAULT, id="a certificate has expired"),
        pytest.param({"certificates": {"yours": 3.0}}, "certificate", WARNING, id="one expires soon"),
        pytest.param({"definitions": True, "replicas": []}, "release", FAULT, id="no scheduler is there"),
        pytest.param({"read_api": "no rights"}, "scheduler", WARNING, id="the scheduler does not answer"),
    ],
)
def test_what_is_wrong(facts: dict[str, Any], check: str, state: str) -> None:
    [found] = [each for each in findings(Facts(**facts)) if each.check == check]
    assert found.state == state
    assert bool(found.do) is (state != OK)
