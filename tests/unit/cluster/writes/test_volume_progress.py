from typing import Any

import pytest

from pilotage.framework.api.objects import Kind
from pilotage.kinds.storage import PersistentVolume, PersistentVolumeClaim
from pilotage.plugins.volumes.volume_binding.volume_progress import (
    ClusterView,
    Failed,
    Progress,
    Seen,
    VolumeProgress,
    Written,
)
from pilotage.testing import FakeCluster, make_node, make_pod
from pilotage.testing.storage import make_claim, make_csi_node, make_volume

HOST = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
POD = make_pod("web", namespace="ns", uid="u1")
NODE = make_node("n1", labels={ZONE: "z1"})
EBS = {"awsElasticBlockStore": {"volumeID": "vol-1"}}
WRONG_EBS = {"awsElasticBlockStore": {"volumeID": "aws://z1/nonsense"}}
MIGRATED = make_csi_node("n1", migrated=["kubernetes.io/aws-ebs"])
WRONG_AFFINITY = 'pv "v" node affinity doesn\'t match node "n1": no matching NodeSelectorTerms'
UNTRANSLATABLE = (
    "could not translate pv: failed to translate Kubernetes ID to EBS Volume ID "
    "Invalid format for AWS volume (aws://z1/nonsense)"
)

WAITING, DONE = Progress.WAITING, Progress.DONE


def volume(version: int = 6, uid: str = "u-v", claimed: str | None = "claim-c", **fields: Any) -> PersistentVolume:
    reference = None if claimed is None else {"namespace": "ns", "name": "c", "uid": claimed}
    metadata = {"uid": uid, "resourceVersion": str(version)}
    return make_volume("v", metadata=metadata, claimRef=reference, **fields)


def claim(version: int = 6, uid: str = "claim-c", **fields: Any) -> PersistentVolumeClaim:
    return make_claim("c", namespace="ns", metadata={"uid": uid, "resourceVersion": str(version)}, **fields)


def looked(progress: VolumeProgress, *objects: Kind, node: bool = True, pod: str | None = "u1") -> Seen:
    cluster = FakeCluster([NODE] if node else [], objects=objects)
    pods = {} if pod is None else {POD.key: make_pod("web", namespace="ns", uid=pod)}
    progress._view = ClusterView(cluster.cache.objects, cluster.cache.find_node, pods.get)
    return progress.look()


def begun() -> VolumeProgress:
    return VolumeProgress(ClusterView(FakeCluster().cache.objects, lambda _: None, lambda _: None), POD, "n1")


def taking() -> VolumeProgress:
    """Begin with a volume that was written as version 6."""
    progress = begun()
    progress.volumes.append(Written(volume(5), "6"))
    return progress


def making() -> VolumeProgress:
    """Begin with a claim that was written as version 6."""
    progress = begun()
    progress.claims.append(Written(claim(5, selected_node="n1"), "6"))
    return progress


@pytest.mark.parametrize("begin", [taking, making], ids=["for a volume that is taken", "for one that is made"])
@pytest.mark.parametrize(
    ("around", "expected"),
    [
        pytest.param({"node": False}, 'failed to get node "n1": node "n1" not found', id="the node is gone"),
        pytest.param({"pod": None}, 'pod does not exist any more: pod "web" not found', id="the pod is gone"),
        pytest.param({"pod": "u2"}, 'pod does not exist any more: pod "web" not found', id="it is another pod"),
        pytest.param(
            {"pod": None, "node": False}, 'failed to get node "n1": node "n1" not found', id="both are, the node first"
        ),
    ],
)
def test_pod_and_node_must_be_there(begin: Any, around: dict[str, Any], expected: str) -> None:
    assert looked(begin(), volume(), claim(volume="v", selected_node="n1"), **around) == Failed(expected)


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        pytest.param([volume(), claim(volume="v")], DONE, id="the claim has it"),
        pytest.param([volume(9), claim(9, volume="v")], DONE, id="others went on since"),
        pytest.param([volume(), claim()], WAITING, id="the claim does not have it yet"),
        pytest.param([volume(), claim(volume="v", bound=False)], WAITING, id="the claim names it only"),
        pytest.param([volume(5, claimed=None), claim()], WAITING, id="the watch has not come to our write"),
        pytest.param(
            [volume(5, claimed=None, on={HOST: ["n2"]}), claim(volume="v")],
            WAITING,
            id="what an older version says does not count",
        ),
        pytest.param(
            [claim()], 'failed to check binding: persistentvolumes "v" not found', id="the volume was deleted"
        ),
        pytest.param(
            [volume(7, uid="u-w"), claim()],
            'failed to check binding: persistentvolumes "v" not found',
            id="the volume is another one",
        ),
        pytest.param(
            [volume()], 'failed to check binding: persistentvolumeclaims "ns/c" not found', id="the claim was deleted"
        ),
        pytest.param(
            [volume(), claim(uid="claim-d", volume="v")],
            'failed to check binding: persistentvolumeclaims "ns/c" not found',
            id="the claim is another one",
        ),
        pytest.param([volume(on={HOST: ["n2"]}), claim(volume="v")], WRONG_AFFINITY, id="the node cannot reach it"),
        pytest.param([volume(on={HOST: ["n2"]}), claim()], WRONG_AFFINITY, id="the same before the claim has it"),
        pytest.param(
            [volume(7, claimed=None), claim()], 'ClaimRef got reset for pv "v"', id="the volume was taken back"
        ),
        pytest.param([volume(7, claimed=""), claim()], 'ClaimRef got reset for pv "v"', id="it is only kept any more"),
        pytest.param(
            [volume(7, claimed=None), claim(volume="v")],
            'ClaimRef got reset for pv "v"',
            id="it was taken back although the claim has it",
        ),
        pytest.param(
            [volume(), claim(volume="w")], 'PVC "c" was bound to pv "w" instead of "v"', id="the claim took another one"
        ),
    ],
)
def test_a_volume_that_is_taken(objects: list[Kind], expected: Progress | str) -> None:
    assert looked(taking(), *objects) == (Failed(expected) if isinstance(expected, str) else expected)


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        pytest.param([volume(), claim(volume="v", selected_node="n1")], DONE, id="the claim has one"),
        pytest.param([claim(selected_node="n1")], WAITING, id="it has none yet"),
        pytest.param([volume(), claim(volume="v", bound=False, selected_node="n1")], WAITING, id="it names one only"),
        pytest.param([claim(volume="v", selected_node="n1")], WAITING, id="we have not heard of the volume"),
        pytest.param([claim(5)], WAITING, id="the watch has not come to our write"),
        pytest.param(
            [],
            'failed to check provisioning pvc: persistentvolumeclaims "ns/c" not found',
            id="the claim was deleted",
        ),
        pytest.param(
            [claim(uid="claim-d", selected_node="n1")],
            'failed to check provisioning pvc: persistentvolumeclaims "ns/c" not found',
            id="the claim is another one",
        ),
        pytest.param([claim(7)], 'selectedNode annotation reset for PVC "c"', id="all annotations are gone"),
        pytest.param([claim(7, bound=True)], 'provisioning failed for PVC "c"', id="the node's name was taken away"),
        pytest.param([claim(7, selected_node="n2")], 'provisioning failed for PVC "c"', id="it is another node"),
        pytest.param(
            [volume(on={HOST: ["n2"]}), claim(volume="v", selected_node="n1")],
            WRONG_AFFINITY,
            id="the node cannot reach it",
        ),
        pytest.param(
            [volume(on={HOST: ["n2"]}), claim(volume="v", bound=False, selected_node="n1")],
            WRONG_AFFINITY,
            id="the same while the claim only names it",
        ),
    ],
)
def test_a_volume_that_is_made(objects: list[Kind], expected: Progress | str) -> None:
    assert looked(making(), *objects) == (Failed(expected) if isinstance(expected, str) else expected)


@pytest.mark.parametrize(
    ("disk", "more", "taken", "made"),
    [
        pytest.param(
            EBS | {"on": {ZONE: ["z1"]}}, [MIGRATED], WRONG_AFFINITY, WRONG_AFFINITY, id="by the driver's own zones"
        ),
        pytest.param(EBS | {"on": {ZONE: ["z1"]}}, [make_csi_node("n1")], DONE, DONE, id="no driver does it there"),
        pytest.param(EBS | {"on": {ZONE: ["z1"]}}, [], DONE, DONE, id="no driver told anything about the node"),
        pytest.param(
            WRONG_EBS,
            [MIGRATED],
            f"failed to translate pv to csi: {UNTRANSLATABLE}",
            UNTRANSLATABLE,
            id="the driver cannot serve it",
        ),
    ],
)
def test_a_driver_that_serves_the_volumes_of_old(disk: Any, more: list[Kind], taken: Any, made: Any) -> None:
    objects = [volume(**disk), claim(volume="v", selected_node="n1"), *more]
    assert looked(taking(), *objects) == (Failed(taken) if isinstance(taken, str) else taken)
    assert looked(making(), *objects) == (Failed(made) if isinstance(made, str) else made)


def test_what_comes_first_and_is_not_done_stands_for_all() -> None:
    progress = taking()
    progress.claims.append(Written(make_claim("m", namespace="ns", selected_node="n1"), "6"))
    assert looked(progress, volume(), claim()) is WAITING, "the missing claim comes later"
    missing = 'failed to check provisioning pvc: persistentvolumeclaims "ns/m" not found'
    assert looked(progress, volume(), claim(volume="v")) == Failed(missing)
