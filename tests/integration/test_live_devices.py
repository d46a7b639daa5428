"""Pods with claims for devices on a live control plane, with the real claim controller, watched by the auditor."""

import json
import signal
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kit.control_plane import ControlPlane
from kit.device_play import PROTECTION, VERSION, DevicePlay, devices_in, devices_of, message_of
from kit.fixtures import Audit, Nodes
from kit.replicas import LEADS, replicas
from kit.tiers import tiered

ODD = [
    pytest.param('{"a":1,"b":2}', id="compact and sorted"),
    pytest.param('{"a": 1, "b": [1, 2]}', id="with spaces"),
    pytest.param('{"b":2,"a":1}', id="not sorted"),
    pytest.param('{ "b" : null, "a" : {"c": null} }', id="with nulls and spaces"),
]


@pytest.fixture
def play(control_plane: ControlPlane, namespace: str) -> Iterator[DevicePlay]:
    with devices_of(control_plane, namespace) as found:
        yield found


@pytest.fixture
def audited(audit: Audit, namespace: str) -> Callable[[], Any]:
    serves = {"system:kube-scheduler": [namespace]}
    return lambda: audit(serves=serves, namespaces=[namespace], wait_limit=0)


@pytest.mark.parametrize("parameters", ODD)
def test_a_claim_is_protected_and_allocated_however_it_was_written(
    play: DevicePlay, control_plane: ControlPlane, fake_nodes: Nodes, tmp_path: Path, parameters: str
) -> None:
    play.publish(fake_nodes(*play.nodes(1)), 1)
    _create_as_written(play, parameters, tmp_path / "claim.json")
    with control_plane.pilotage(play.configuration(tmp_path)):
        play.create([play.pod("web", claim="odd")])
        play.until_bound(1)
    assert play.violations() == []
    (config,) = play.claim("odd")["status"]["allocation"]["devices"]["config"]
    assert config["source"] == "FromClaim"
    assert config["opaque"]["parameters"] == json.loads(parameters)
    play.admin.delete(f"{play.pods}/web", gracePeriodSeconds=0)
    play.until(lambda: not devices_in(play.claim("odd")))
    assert PROTECTION not in play.claim("odd")["metadata"].get("finalizers", [])


def _create_as_written(play: DevicePlay, parameters: str, file: Path) -> None:
    spec = play.spec(config=[{"opaque": {"driver": play.driver, "parameters": "HERE"}}])
    claim = {"apiVersion": VERSION, "kind": "ResourceClaim", "metadata": {"name": "odd"}, "spec": spec}
    file.write_text(json.dumps(claim).replace('"HERE"', parameters))  # as it is, to the byte
    play.control_plane.kubectl("create", "--raw", play.claims, "-f", str(file))


@pytest.mark.timeout(600)
@pytest.mark.parametrize("parameters", tiered(['{"a":1}', '{ "b" : null, "a" : 1 }'], full=['{"a":1}']))
def test_a_device_that_cannot_be_prepared_is_given_up_and_another_one_taken(
    play: DevicePlay, control_plane: ControlPlane, fake_nodes: Nodes, tmp_path: Path, parameters: str
) -> None:
    conditions = {"bindingConditions": ["Ready"], "bindingFailureConditions": ["Broken"]}
    play.publish(fake_nodes(*play.nodes(2)), 1, **conditions)
    _create_as_written(play, parameters, tmp_path / "claim.json")
    with control_plane.pilotage(play.configuration(tmp_path)):
        play.create([play.pod("web", claim="odd")])
        play.until(lambda: devices_in(play.claim("odd")))
        play.report("odd", "Broken")
        play.until(lambda: _waits(play, "web", "device binding failed: claim=odd, reason=Told"))
        play.until(lambda: devices_in(play.claim("odd")) and not play.claim("odd")["status"].get("devices"))
        assert play.bound() == []
        play.report("odd", "Ready")
        play.until_bound(1)
    assert play.violations() == []


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("pods", "nodes"), [pytest.param(200, 50), pytest.param(4000, 500, marks=pytest.mark.size)])
def test_pods_with_claims_of_their_own_use_all_devices_and_none_twice(
    play: DevicePlay,
    control_plane: ControlPlane,
    fake_nodes: Nodes,
    audited: Callable[[], Any],
    tmp_path: Path,
    pods: int,
    nodes: int,
) -> None:
    play.publish(fake_nodes(*play.nodes(nodes)), 8)
    play.create_template(count=2)  # four pods on a node, and no device is left
    with audited() as running, control_plane.pilotage(play.configuration(tmp_path)):
        play.create([play.pod(f"pod-{number}") for number in range(pods)])
        play.until_bound(pods)
        assert play.violations() == []
        play.create([play.pod("late")])
        waiting = play.until(lambda: _waits(play, "late", "cannot allocate all claims"))
        assert waiting["status"]["conditions"][0]["reason"] == "Unschedulable"
        play.admin.delete(f"{play.pods}/pod-0", gracePeriodSeconds=0)
        play.until(lambda: play.admin.get(f"{play.pods}/late")["spec"].get("nodeName"))
    assert play.violations() == []
    assert running.report["violations"] == []


def _waits(play: DevicePlay, pod: str, why: str) -> Any:
    found = play.admin.get(f"{play.pods}/{pod}")
    return found if why in message_of(found) else None


@pytest.mark.timeout(600)
def test_pods_share_claims(
    play: DevicePlay, control_plane: ControlPlane, fake_nodes: Nodes, audited: Callable[[], Any], tmp_path: Path
) -> None:
    play.publish(fake_nodes(*play.nodes(10)), 2)
    for number in range(20):
        play.create_claim(f"claim-{number}")
    with audited() as running, control_plane.pilotage(play.configuration(tmp_path)):
        play.create([play.pod(f"pod-{n}", claim=f"claim-{n % 20}") for n in range(200)])
        play.until_bound(200)
    assert play.violations() == []
    assert {len(each["status"]["reservedFor"]) for each in play.all_claims()} == {10}
    assert running.report["violations"] == []


def test_a_claim_that_is_made_anew_before_the_write_is_another_claim(
    play: DevicePlay, control_plane: ControlPlane, fake_nodes: Nodes, tmp_path: Path
) -> None:
    play.publish(fake_nodes(*play.nodes(4)), 4)
    with control_plane.pilotage(play.configuration(tmp_path)):
        for number in range(12):
            name = f"claim-{number}"
            play.create_claim(name)
            play.create([play.pod(f"pod-{number}", claim=name)])
            play.admin.delete(f"{play.claims}/{name}")
            play.until(partial(_makes_anew, play, name))
        play.until_bound(12)
    assert play.violations() == []


def _makes_anew(play: DevicePlay, name: str) -> bool:
    """Create a claim unless there is one; an old one that is in use stays until its pod is gone."""
    found = play.admin.find(f"{play.claims}/{name}")
    if found is None:
        play.create_claim(name)
        return True
    for consumer in {each["name"] for each in found.get("status", {}).get("reservedFor", [])}:
        _start_again(play, consumer, name)
    return False


def _start_again(play: DevicePlay, pod: str, claim: str) -> None:
    play.admin.delete(f"{play.pods}/{pod}", gracePeriodSeconds=0)
    play.until(lambda: play.admin.find(f"{play.pods}/{pod}") is None)
    play.create([play.pod(pod, claim=claim)])


@pytest.mark.timeout(600)
def test_slices_that_are_tainted_and_removed_under_load(
    play: DevicePlay, control_plane: ControlPlane, fake_nodes: Nodes, audited: Callable[[], Any], tmp_path: Path
) -> None:
    nodes = fake_nodes(*play.nodes(20))
    play.publish(nodes, 4)
    play.create_template()
    rule = {
        "apiVersion": VERSION,
        "kind": "DeviceTaintRule",
        "metadata": {"name": play.namespace, "labels": {"test": play.namespace}},
        "spec": {
            "deviceSelector": {"driver": play.driver, "pool": nodes[0]},
            "taint": {"key": "broken", "effect": "NoSchedule"},
        },
    }
    path = "/apis/resource.k8s.io/v1"
    play.admin.post(f"{path}/devicetaintrules", rule)
    with audited() as running, control_plane.pilotage(play.configuration(tmp_path)):
        play.create([play.pod(f"pod-{number}") for number in range(40)])
        for node in nodes[1:6]:
            play.admin.delete(f"{path}/resourceslices/{node}")
        play.create([play.pod(f"more-{number}") for number in range(40)])
        play.until(lambda: len(play.bound()) >= 56)  # 14 nodes have devices that can be used
        for node in nodes[1:6]:
            if play.admin.find(f"{path}/resourceslices/{node}") is None:
                play.admin.post(f"{path}/resourceslices", play.slice_of(node, 4))
        play.until(lambda: len(play.bound()) >= 76)
        assert all(each["spec"]["nodeName"] != nodes[0] for each in play.bound())
        play.admin.delete(f"{path}/devicetaintrules/{play.namespace}")
        play.until_bound(80)
    assert play.violations() == []
    assert running.report["violations"] == []


@pytest.mark.timeout(600)
def test_other_writers_of_claims_cost_conflicts_and_nothing_else(
    play: DevicePlay, control_plane: ControlPlane, fake_nodes: Nodes, audited: Callable[[], Any], tmp_path: Path
) -> None:
    play.publish(fake_nodes(*play.nodes(10)), 8)
    for number in range(40):
        play.create_claim(f"claim-{number}")
    with audited() as running, control_plane.pilotage(play.configuration(tmp_path)):
        play.create([play.pod(f"pod-{n}", claim=f"claim-{n % 40}") for n in range(80)])
        turn = 0
        while len(play.bound()) < 80:
            turn += 1
            for number in range(40):
                note = {"metadata": {"annotations": {"turn": str(turn)}}}
                play.admin.patch(f"{play.claims}/claim-{number}", note)
            assert turn < 200, play.why()
    assert play.violations() == []
    assert running.report["violations"] == []


@pytest.mark.timeout(600)
def test_a_claim_that_keeps_its_pod_from_all_nodes_is_freed(
    play: DevicePlay, control_plane: ControlPlane, fake_nodes: Nodes, tmp_path: Path
) -> None:
    nodes = fake_nodes(*play.nodes(2))
    play.publish(nodes, 1)
    claim = play.create_claim("stuck")
    selector = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["gone"]}]}
    allocation = {
        "devices": {"results": [{"request": "r", "driver": play.driver, "pool": "gone", "device": "d0"}]},
        "nodeSelector": {"nodeSelectorTerms": [selector]},
    }
    body = {"metadata": {"uid": claim["metadata"]["uid"]}, "status": {"allocation": allocation}}
    play.admin.patch(f"{play.claims}/stuck/status", body)
    with control_plane.pilotage(play.configuration(tmp_path)):
        play.create([play.pod("web", claim="stuck")])
        play.until_bound(1)
    assert play.violations() == []


@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", tiered(range(6), full=range(2, 6)))
def test_a_leader_that_is_killed_between_its_writes_leaves_nothing_behind(
    play: DevicePlay, control_plane: ControlPlane, namespace: str, fake_nodes: Nodes, tmp_path: Path, seed: int
) -> None:
    play.publish(fake_nodes(*play.nodes(20)), 8)
    play.create_template(count=2)
    with replicas(control_plane, namespace, tmp_path, 2) as found:
        leader, standby = found.start(0), found.start(1)
        leader.until_said(LEADS)
        pods = [play.pod(f"pod-{number}") for number in range(80)]
        for pod in pods:
            pod["spec"]["schedulerName"] = found.scheduler
        play.create(pods)
        play.until(lambda: len(play.bound()) >= 3 + 10 * seed)
        leader.running.process.send_signal(signal.SIGKILL)
        standby.until_said(LEADS)
        play.until_bound(80)
    assert play.violations() == []
