"""Devices and the claims for them, as an API server takes them."""

import json
from collections.abc import Sequence

from oracle.devices import ADMIN_NAMESPACE, allocated, claim, device_class, exactly, on_node, result
from oracle.draw import Draw
from oracle.draw_devices import DRIVERS, Devices
from oracle.generate_affinity import with_pod_affinity
from oracle.generate_cluster import names_of, nodes, pending, running
from oracle.generate_nodes import Parts, affine
from oracle.scenario import OWNED_CLAIMS, Manifest

NOWHERE = "no-such-node"
LONG_AGO = "2026-01-01T00:00:00Z"
PLUG, SOCKET = "example.com/plug", "example.com/socket"
SOMEBODY = {"resource": "pods", "name": "somebody", "uid": "11111111-1111-4111-8111-111111111111"}


def node_devices(draw: Draw) -> Parts:
    """Devices of nodes, by class and expression."""
    return _claiming(draw, "selectors")


def device_pools(draw: Draw) -> Parts:
    """Pools in several slices, of several generations, that are incomplete or contradict themselves."""
    return _claiming(draw, "generations", "incomplete", *draw.some(("invalid", "counters"), 0, 1))


def network_devices(draw: Draw) -> Parts:
    """Devices that several nodes can reach.

    None of them has to be prepared: nobody here would do it, and kube-scheduler waits for that.
    """
    return _claiming(draw, "network", *draw.some(("perDevice", "selectors", "bindsToNode"), 0, 2))


def device_constraints(draw: Draw) -> Parts:
    """Devices that must have an attribute in common, or not."""
    return _claiming(draw, "constraints", *draw.some(("network", "selectors", "firstAvailable"), 0, 1))


def device_alternatives(draw: Draw) -> Parts:
    """The first available of several kinds; nodes that have the better kind are better."""
    return _claiming(draw, "firstAvailable", "selectors", *draw.some(("config", "network"), 0, 1))


def all_devices(draw: Draw) -> Parts:
    """All devices of a node, and access for admins."""
    return _claiming(draw, "all", "admin", *draw.some(("selectors", "network"), 0, 1), namespace=ADMIN_NAMESPACE)


def device_taints(draw: Draw) -> Parts:
    """Tainted devices, by their drivers and by rules."""
    return _claiming(draw, "taints", "rules", *draw.some(("network", "all"), 0, 1))


def device_counters(draw: Draw) -> Parts:
    """Devices that are parts of something that they share."""
    return _claiming(draw, "counters", *draw.some(("network", "selectors", "perDevice"), 0, 1))


def shared_devices(draw: Draw) -> Parts:
    """Devices that several claims may use, each a part of their capacity."""
    return _claiming(draw, "shared", "policies", "capacity", *draw.some(("counters", "network"), 0, 1))


def allocated_claims(draw: Draw) -> Parts:
    """Claims that have their devices: on this node, elsewhere, reserved by others, or to be given up at last."""
    there, pods = _claiming(draw, *draw.some(("selectors", "network"), 0, 1), most=3)
    cluster = names_of(there)
    somewhere = [f"held-{number}-{draw.seed}" for number in range(3)]
    held = [
        _held(name, draw.pick(cluster), number, [SOMEBODY] if draw.chance(0.5) else [])
        for number, name in enumerate(somewhere)
    ]
    lost = _held(f"lost-{draw.seed}", NOWHERE, 7, [SOMEBODY] if draw.chance(0.3) else [])
    pods += [
        _with_claims(pending(draw, 20 + number, namespace="default"), [draw.pick(somewhere)]) for number in range(3)
    ]
    # Its second attempt may follow at once: no decision may depend on how far that got.
    last = _with_claims(pending(draw, 30, namespace="default"), [lost["metadata"]["name"]])
    return [*there, *held, lost], [*pods, last]


def shared_claims(draw: Draw) -> Parts:
    """Claims that several pods use."""
    there, pods = _claiming(draw, "config", *draw.some(("network", "selectors"), 0, 1), most=2)
    names = [one["metadata"]["name"] for one in there if one["kind"] == "ResourceClaim"]
    for number in range(draw.number(2, 4)):
        pods.append(_with_claims(pending(draw, 10 + number, namespace="default"), draw.some(names, 1, 2)))
    return there, pods


def extended_resources(draw: Draw) -> Parts:
    """Resources that some nodes serve by a device plugin and others by a class of devices."""
    cluster = nodes(draw, 2, 4)
    devices = Devices(draw, frozenset())
    slices = devices.slices(names_of(cluster), f"-{draw.seed}")
    for node in cluster:
        if draw.chance(0.3):
            for there in (node["status"]["allocatable"], node["status"]["capacity"]):
                there[PLUG] = "2"
    name = f"plug-{draw.seed}"
    classes = [device_class(name, f'device.driver == "{DRIVERS[0]}"', extendedResourceName=PLUG)]
    if draw.chance(0.7):
        classes.append(device_class(f"socket-{draw.seed}", extendedResourceName=SOCKET))
    implicit = f"deviceclass.resource.kubernetes.io/{name}"
    wanted = (PLUG, PLUG, SOCKET, implicit)
    pods = [_with_extended(draw, pending(draw, number, namespace="default"), wanted) for number in range(5)]
    return [*classes, *slices, *cluster, *running(draw, cluster, 2)], pods


def device_expressions(draw: Draw) -> Parts:
    """Expressions that fail on a device, which fails the pod on all nodes; one node alone has devices."""
    cluster = nodes(draw, 2, 4, unschedulable=0.0, taints=0.0)
    devices = Devices(draw, frozenset({"selectors", "errors"}))
    slices = devices.slices(names_of(cluster)[:1], f"-{draw.seed}")
    return _finished(draw, devices, cluster, slices)


def devices_and_more(draw: Draw) -> Parts:
    """Devices where room is scarce, pods are choosy, and some are more important than others."""
    there, pods = _claiming(draw, "selectors", *draw.some(("network", "firstAvailable", "shared"), 0, 1), tight=True)
    crowd = [one for one in there if one["kind"] == "Pod"]
    for pod in pods:
        if draw.chance(0.4):
            affine(draw, pod, names_of(there))
        if draw.chance(0.3):
            with_pod_affinity(draw, pod)
    draw.prioritize(crowd, pods)
    return there, pods


def _claiming(draw: Draw, *traits: str, namespace: str = "default", most: int = 5, tight: bool = False) -> Parts:
    cluster = nodes(draw, 2, 4, tight=tight)
    devices = Devices(draw, frozenset(traits))
    slices = devices.slices(names_of(cluster), f"-{draw.seed}")
    return _finished(draw, devices, cluster, slices, namespace, most)


def _finished(
    draw: Draw,
    devices: Devices,
    cluster: list[Manifest],
    slices: list[Manifest],
    namespace: str = "default",
    most: int = 5,
) -> Parts:
    classes = devices.classes(f"-{draw.seed}")
    names = [one["metadata"]["name"] for one in classes]
    rules = devices.rules(slices, f"-{draw.seed}")
    claims, pods = [], []
    for number in range(draw.number(2, most)):
        pod = pending(draw, number, namespace=namespace)
        wanted = [
            _claim(devices, f"c{number}-{place}-{draw.seed}", names, namespace)
            for place in range(draw.pick((1, 1, 1, 2)))
        ]
        if draw.chance(0.3):
            pods.append(_owning(pod, wanted))
        else:
            claims += wanted
            pods.append(_with_claims(pod, [one["metadata"]["name"] for one in wanted]))
    return [*classes, *slices, *rules, *claims, *cluster, *running(draw, cluster, 3)], pods


def _claim(devices: Devices, name: str, classes: list[str], namespace: str) -> Manifest:
    requests = devices.requests(classes)
    spec = {"constraints": devices.constraints(requests), "config": devices.configs(requests)}
    return claim(name, requests, namespace=namespace, **spec)


def _with_claims(pod: Manifest, names: Sequence[str]) -> Manifest:
    pod["spec"]["resourceClaims"] = [
        {"name": f"device-{place}", "resourceClaimName": name} for place, name in enumerate(names)
    ]
    return pod


def _owning(pod: Manifest, claims: list[Manifest]) -> Manifest:
    """A pod whose claims are made from templates, by a controller."""
    entries = [f"device-{place}" for place in range(len(claims))]
    pod["spec"]["resourceClaims"] = [{"name": entry, "resourceClaimTemplateName": "template"} for entry in entries]
    pod["metadata"].setdefault("annotations", {})[OWNED_CLAIMS] = json.dumps(claims)
    pod["status"] = {
        "resourceClaimStatuses": [
            {"name": entry, "resourceClaimName": one["metadata"]["name"]}
            for entry, one in zip(entries, claims, strict=True)
        ]
    }
    return pod


def _held(name: str, node: str, number: int, reserved: list[Manifest]) -> Manifest:
    made = claim(name, [exactly("r0", "any")])
    made = allocated(made, [result(DRIVERS[0], node, f"d{number}")], on_node(node))
    made["status"]["allocation"]["allocationTimestamp"] = LONG_AGO
    return made | {"status": made["status"] | ({"reservedFor": reserved} if reserved else {})}


def _with_extended(draw: Draw, pod: Manifest, names: Sequence[str]) -> Manifest:
    wanted = {name: str(draw.number(1, 2)) for name in draw.some(names, 1, 2)}
    container = pod["spec"]["containers"][0]
    requests = container.setdefault("resources", {}).setdefault("requests", {}) | wanted
    container["resources"] |= {"requests": requests, "limits": wanted}
    if draw.chance(0.3):
        first = {"name": "first", "image": container["image"]}
        amounts = {name: str(draw.number(1, 2)) for name in draw.some(list(wanted), 1)}
        pod["spec"]["initContainers"] = [first | {"resources": {"requests": amounts, "limits": amounts}}]
    return pod
