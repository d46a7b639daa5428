"""What may be large in the specification of a pod: each function adds so much of one thing to a pod."""

from collections.abc import Callable
from random import Random

from pilotage.testing import Manifest

Feature = Callable[[Manifest, int, Random], None]
ZONE = "topology.kubernetes.io/zone"


def _spec(pod: Manifest) -> Manifest:
    found: Manifest = pod["spec"]
    return found


def _resources(pod: Manifest) -> Manifest:
    resources: Manifest = _spec(pod)["containers"][0].setdefault("resources", {})
    return resources


def containers_with_resources(pod: Manifest, size: int, _random: Random) -> None:
    """Containers, each with a resource name that no other has: the sum has as many names as there are containers."""
    for i in range(size):
        limits = {f"example.com/r{i}": "0"}
        resources = {"requests": limits, "limits": limits}
        _spec(pod)["containers"].append({"name": f"c{i}", "image": "i", "resources": resources})


def names_times_containers(pod: Manifest, size: int, random: Random) -> None:
    """A container with many names of resources, and as many containers that have none."""
    free_resources(pod, size, random)
    _spec(pod)["containers"].extend({"name": f"n{i}", "image": "i"} for i in range(size))


def names_times_init_containers(pod: Manifest, size: int, random: Random) -> None:
    """A sidecar with many names of resources, and as many init containers that have none."""
    requests = {f"example.com/s{i}": "1" for i in range(size)}
    sidecar = {"name": "s", "image": "i", "restartPolicy": "Always", "resources": {"requests": requests}}
    others = [{"name": f"j{i}", "image": "i"} for i in range(size)]
    _spec(pod).setdefault("initContainers", []).extend([sidecar, *others])


def init_containers(pod: Manifest, size: int, random: Random) -> None:
    """Init containers and sidecars by turns, each with a resource name of its own."""
    entries = _spec(pod).setdefault("initContainers", [])
    for i in range(size):
        resources = {"requests": {f"example.com/i{i}": str(random.randrange(2))}}
        policy = {"restartPolicy": "Always"} if i % 2 else {}
        entries.append({"name": f"i{i}", "image": "i", "resources": resources, **policy})


def extended_resources(pod: Manifest, size: int, _random: Random) -> None:
    """Names of resources in one container."""
    _resources(pod).setdefault("requests", {}).update({f"example.com/e{i}": "1" for i in range(size)})


def free_resources(pod: Manifest, size: int, _random: Random) -> None:
    """Names of resources of which none is wanted."""
    _resources(pod).setdefault("requests", {}).update({f"example.com/f{i}": "0" for i in range(size)})


def node_selector(pod: Manifest, size: int, _random: Random) -> None:
    """Keys in nodeSelector."""
    _spec(pod).setdefault("nodeSelector", {}).update({f"key-{i}": "v" for i in range(size)})


def tolerations(pod: Manifest, size: int, _random: Random) -> None:
    """Tolerations of taints that no node has."""
    more = [{"key": f"taint-{i}", "operator": "Equal", "value": "v", "effect": "NoSchedule"} for i in range(size)]
    _spec(pod).setdefault("tolerations", []).extend(more)


def spread(when: str, *, key: str = "") -> Feature:
    """Return constraints of spread, over a key each or all over one."""

    def grow(pod: Manifest, size: int, _random: Random) -> None:
        constraints = _spec(pod).setdefault("topologySpreadConstraints", [])
        for i in range(size):
            selector = {"matchLabels": {f"app-{i}": "x"}}
            one = {"maxSkew": 1, "topologyKey": key or f"key-{i}", "whenUnsatisfiable": when, "labelSelector": selector}
            constraints.append(one)

    return grow


def labels(pod: Manifest, size: int, _random: Random) -> None:
    """Labels."""
    pod["metadata"].setdefault("labels", {}).update({f"label-{i}": "v" for i in range(size)})


def host_ports(pod: Manifest, size: int, _random: Random) -> None:
    """Host ports, of several addresses."""
    ports = [
        {"containerPort": 1 + i % 65_000, "hostPort": 1 + i % 65_000, "hostIP": f"10.0.{i // 65_000}.1"}
        for i in range(size)
    ]
    _spec(pod)["containers"][0].setdefault("ports", []).extend(ports)


def images(pod: Manifest, size: int, _random: Random) -> None:
    """Containers of as many images."""
    more = [{"name": f"m{i}", "image": f"registry.example.com/image-{i}:v1"} for i in range(size)]
    _spec(pod)["containers"].extend(more)


def claims(pod: Manifest, size: int, _random: Random) -> None:
    """Volumes with claims that do not exist."""
    more = [{"name": f"v{i}", "persistentVolumeClaim": {"claimName": f"claim-{i}"}} for i in range(size)]
    _spec(pod).setdefault("volumes", []).extend(more)


def disks(pod: Manifest, size: int, _random: Random) -> None:
    """Volumes of kinds that only one pod of a node may have."""
    more = [{"name": f"d{i}", "gcePersistentDisk": {"pdName": f"disk-{i}"}} for i in range(size)]
    _spec(pod).setdefault("volumes", []).extend(more)


def ephemeral_volumes(pod: Manifest, size: int, _random: Random) -> None:
    """Volumes with a template of a claim."""
    template = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
    more = [{"name": f"t{i}", "ephemeral": {"volumeClaimTemplate": template}} for i in range(size)]
    _spec(pod).setdefault("volumes", []).extend(more)


def resource_claims(pod: Manifest, size: int, _random: Random) -> None:
    """Claims of devices."""
    more = [{"name": f"r{i}", "resourceClaimName": f"device-{i}"} for i in range(size)]
    _spec(pod).setdefault("resourceClaims", []).extend(more)


def gates(pod: Manifest, size: int, _random: Random) -> None:
    """Scheduling gates."""
    _spec(pod).setdefault("schedulingGates", []).extend({"name": f"example.com/g{i}"} for i in range(size))


def text(pod: Manifest, size: int, _random: Random) -> None:
    """Text that takes six bytes for each of its own on the wire."""
    pod["spec"]["containers"][0].setdefault("env", []).append({"name": "TEXT", "value": "<" * size})


def owners(pod: Manifest, size: int, _random: Random) -> None:
    """Owners."""
    more = [{"apiVersion": "v1", "kind": "Set", "name": f"o{i}", "uid": f"o{i}"} for i in range(size)]
    pod["metadata"].setdefault("ownerReferences", []).extend(more)


FEATURES: dict[str, tuple[Feature, int]] = {
    "containers with a resource each": (containers_with_resources, 2_000),
    "init containers with a resource each": (init_containers, 4_000),
    "names of resources times containers": (names_times_containers, 6_000),
    "names of resources times init containers": (names_times_init_containers, 6_000),
    "extended resources": (extended_resources, 20_000),
    "extended resources of which none is wanted": (free_resources, 20_000),
    "node selector": (node_selector, 10_000),
    "tolerations": (tolerations, 10_000),
    "soft spread constraints, a key each": (spread("ScheduleAnyway"), 10_000),
    "soft spread constraints over zones": (spread("ScheduleAnyway", key=ZONE), 8_000),
    "hard spread constraints, a key each": (spread("DoNotSchedule"), 10_000),
    "hard spread constraints over zones": (spread("DoNotSchedule", key=ZONE), 8_000),
    "labels": (labels, 40_000),
    "host ports": (host_ports, 15_000),
    "images": (images, 15_000),
    "claims that do not exist": (claims, 12_000),
    "disks": (disks, 15_000),
    "ephemeral volumes": (ephemeral_volumes, 6_000),
    "resource claims": (resource_claims, 15_000),
    "scheduling gates": (gates, 30_000),
    "text of a megabyte and a half": (text, 1_450_000),
    "owners": (owners, 15_000),
}
