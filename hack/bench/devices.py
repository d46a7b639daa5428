"""What the engine is measured with where pods want devices: nodes with eight each, and a claim for each pod."""

from collections.abc import Iterator

from pilotage.kinds.decoding import decode
from pilotage.kinds.devices import DeviceClass, ResourceClaim, ResourceSlice
from pilotage.kinds.kube_object import KubeObject
from pilotage.model.pod import Pod
from pilotage.testing import Manifest, make_pod

DRIVER = "gpu.example.com"
PER_NODE = 8
SELECTOR = f'device.driver == "{DRIVER}" && device.attributes["{DRIVER}"].model == "a100"'


def with_claims(count: int) -> Iterator[Pod]:
    """Yield pods with a claim each."""
    for i in range(count):
        claims = [{"name": "gpu", "resourceClaimName": f"claim-{i}"}]
        yield make_pod(f"device-{i}", cpu="10m", memory="10Mi", spec={"resourceClaims": claims})


def devices_and_claims(nodes: int, count: int) -> Iterator[KubeObject]:
    """Yield the devices of all nodes, their class, and the claims of the pods."""
    spec: Manifest = {"selectors": [{"cel": {"expression": SELECTOR}}]}
    yield _decoded({"metadata": {"name": "gpu"}, "spec": spec}, DeviceClass)
    for i in range(nodes):
        yield _decoded({"metadata": {"name": f"slice-{i}"}, "spec": _slice(f"node-{i}")}, ResourceSlice)
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}}
    for i in range(count):
        metadata = {"name": f"claim-{i}", "namespace": "default", "uid": f"uid-claim-{i}"}
        yield _decoded({"metadata": metadata, "spec": {"devices": {"requests": [request]}}}, ResourceClaim)


def _slice(node: str) -> Manifest:
    devices = [
        {
            "name": f"gpu-{i}",
            "attributes": {"model": {"string": "a100"}, "address": {"string": f"0000:0{i}:00.0"}},
            "capacity": {"memory": {"value": "40Gi"}},
        }
        for i in range(PER_NODE)
    ]
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    return {"driver": DRIVER, "nodeName": node, "pool": pool, "devices": devices}


def _decoded(manifest: Manifest, kind: type[KubeObject]) -> KubeObject:
    found = decode(manifest, kind)
    assert isinstance(found, KubeObject)
    return found
