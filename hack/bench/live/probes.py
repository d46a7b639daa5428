"""A pod that can be bound only by a scheduler that knows a certain slice of devices."""

import msgspec

from bench.live.objects import HOST_NAME, Write, creation
from localcluster.errors import Problem

PROBES = "bench-probes"
RESOURCE = "resource.k8s.io/v1"


def probe(slice_of_devices: Write, place: str) -> list[Write]:
    """Requests for the pod, and for the claim that only the devices of the slice can serve."""
    content = msgspec.json.decode(slice_of_devices.body)
    node = content.get("spec", {}).get("nodeName")
    if content["kind"] != "ResourceSlice" or not node:
        raise Problem(f"Only slices of a node's devices can be measured, not the kind {content['kind']}")
    device_class = {"apiVersion": RESOURCE, "kind": "DeviceClass", "metadata": {"name": "probe"}, "spec": {}}
    request = {"name": "any", "exactly": {"deviceClassName": "probe"}}
    metadata = {"name": "probe", "namespace": place}
    claim = {"apiVersion": RESOURCE, "kind": "ResourceClaim", "metadata": metadata}
    claim["spec"] = {"devices": {"requests": [request]}}
    spec = {
        "containers": [{"name": "pause", "image": "pause"}],
        "nodeSelector": {HOST_NAME: node},
        "resourceClaims": [{"name": "any", "resourceClaimName": "probe"}],
    }
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    return [creation(device_class), creation(claim), creation(pod)]
