"""Pods that request extended resources, which devices serve, on a live control plane."""

from pathlib import Path
from typing import Any

import pytest

from kit.control_plane import ControlPlane
from kit.device_play import PROTECTION, ROOT, VERSION, DevicePlay, devices_in, devices_of, message_of
from kit.fixtures import Nodes
from pilotage.testing import Manifest, node_manifest, pod_manifest

MARK = "resource.kubernetes.io/extended-resource-claim"


def serve(play: DevicePlay) -> str:
    """Let the class of the play serve a resource, and return its name."""
    resource = f"{play.namespace}.example.com/device"
    path = f"{ROOT}/deviceclasses/{play.namespace}"
    play.admin.patch(path, {"spec": {"extendedResourceName": resource}})
    return resource


def asking(play: DevicePlay, name: str, **requests: int) -> Manifest:
    wanted = {resource: str(amount) for resource, amount in requests.items()}
    made: Manifest = pod_manifest(
        name, namespace=play.namespace, scheduler=play.namespace, requests=wanted, limits=wanted
    )
    return made


def own_claims(play: DevicePlay, pod: Manifest) -> list[Manifest]:
    return [
        claim
        for claim in play.all_claims()
        if any(owner["uid"] == pod["metadata"]["uid"] for owner in claim["metadata"].get("ownerReferences", []))
    ]


@pytest.mark.timeout(600)
def test_devices_serve_where_there_is_no_device_plugin(
    control_plane: ControlPlane, namespace: str, fake_nodes: Nodes, tmp_path: Path
) -> None:
    with devices_of(control_plane, namespace) as play:
        resource = f"{namespace}.example.com/device"
        plugin = node_manifest(f"{namespace}-plugin", cpu="64", memory="256Gi", allocatable={resource: "2"})
        names = fake_nodes(*play.nodes(2), plugin)
        play.publish(names[:2], 2)
        serve(play)
        with control_plane.pilotage(play.configuration(tmp_path)):
            play.create([asking(play, f"pod-{number}", **{resource: 1}) for number in range(6)])
            play.until_bound(6)
            play.create([asking(play, "late", **{resource: 1})])
            play.until(lambda: "cannot allocate all claims" in message_of(play.admin.get(f"{play.pods}/late")))
            by_devices = [pod for pod in play.bound() if pod["spec"]["nodeName"] != plugin["metadata"]["name"]]
            assert len(by_devices) == 4
            for pod in by_devices:
                _is_served(play, pod, resource)
            for pod in play.bound():
                if pod not in by_devices:
                    assert own_claims(play, pod) == []
            gone = by_devices[0]["metadata"]["name"]
            play.admin.delete(f"{play.pods}/{gone}", gracePeriodSeconds=0)
            play.until(lambda: play.admin.get(f"{play.pods}/late")["spec"].get("nodeName"))
        assert play.violations() == []


def _is_served(play: DevicePlay, pod: Manifest, resource: str) -> None:
    (claim,) = own_claims(play, pod)
    name, metadata = pod["metadata"]["name"], claim["metadata"]
    assert metadata["name"].startswith(f"{name}-extended-resources-")
    assert metadata["annotations"][MARK] == "true"
    assert PROTECTION in metadata["finalizers"]
    assert [device.partition("/")[0] for device in devices_in(claim)] == [pod["spec"]["nodeName"]]
    assert [each["uid"] for each in claim["status"]["reservedFor"]] == [pod["metadata"]["uid"]]
    told: dict[str, Any] = pod["status"]["extendedResourceClaimStatus"]
    assert told["resourceClaimName"] == metadata["name"]
    (mapping,) = told["requestMappings"]
    assert (mapping["containerName"], mapping["resourceName"]) == ("main", resource)
    assert mapping["requestName"] == claim["spec"]["devices"]["requests"][0]["name"]


def test_the_claim_of_an_attempt_that_failed_is_deleted_first(
    control_plane: ControlPlane, namespace: str, fake_nodes: Nodes, tmp_path: Path
) -> None:
    with devices_of(control_plane, namespace) as play:
        play.publish(fake_nodes(*play.nodes(1)), 1)
        resource = serve(play)
        play.create([asking(play, "web", **{resource: 1})])
        pod = play.admin.get(f"{play.pods}/web")
        owner = {"apiVersion": "v1", "kind": "Pod", "name": "web", "uid": pod["metadata"]["uid"], "controller": True}
        left = {"name": "left", "annotations": {MARK: "true"}, "ownerReferences": [owner], "finalizers": [PROTECTION]}
        head = {"apiVersion": VERSION, "kind": "ResourceClaim", "metadata": left}
        play.admin.post(play.claims, {**head, "spec": play.spec()})
        with control_plane.pilotage(play.configuration(tmp_path)):
            play.until_bound(1)
        (claim,) = own_claims(play, play.admin.get(f"{play.pods}/web"))
        assert claim["metadata"]["name"] != "left"
        assert play.violations() == []
