"""Devices: claims that are missing, and claims that nothing can serve."""

from oracle.draw import Draw
from oracle.generate_cluster import nodes, pending, running
from oracle.generate_nodes import Parts
from oracle.scenario import Manifest
from oracle.storage import terminating

API = "resource.k8s.io/v1"


def dynamic_resources(draw: Draw) -> Parts:
    """Claims that cannot be had, each for another reason."""
    cluster = nodes(draw, 2, 5)
    classes = [{"apiVersion": API, "kind": "DeviceClass", "metadata": {"name": f"class-{draw.seed}"}, "spec": {}}]
    claims = [_claim("no-class", "class-of-nobody"), terminating(_claim("deleting", "class-of-nobody"))]
    # A claim that could be served is left out: ours allocates no devices, and says so in its own words.
    names = ["missing", "no-class", "no-class", "deleting", None]
    pods = [_claiming(pending(draw, number, namespace="default"), draw.pick(names)) for number in range(4)]
    return [*classes, *claims, *cluster, *running(draw, cluster, 3)], pods


def _claim(name: str, device_class: str) -> Manifest:
    request = {"name": "req-1", "exactly": {"deviceClassName": device_class}}
    metadata = {"name": name, "namespace": "default"}
    return {
        "apiVersion": API,
        "kind": "ResourceClaim",
        "metadata": metadata,
        "spec": {"devices": {"requests": [request]}},
    }


def _claiming(pod: Manifest, name: str | None) -> Manifest:
    source = {"resourceClaimName": name} if name else {"resourceClaimTemplateName": "template"}
    pod["spec"]["resourceClaims"] = [{"name": "device", **source}]
    pod["spec"]["containers"][0].setdefault("resources", {})["claims"] = [{"name": "device"}]
    return pod
