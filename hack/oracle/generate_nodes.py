"""What a pod asks of a node itself: taints, labels, ports, images, features."""

from typing import Any

from oracle.draw import NODE_LABELS, ZONE, Draw
from oracle.generate_cluster import TAINT_KEYS, TAINT_VALUES, names_of, nodes, pending, running, running_pod, taint_list
from oracle.scenario import Manifest

UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
FEATURES = ("RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport")
IMAGES = {
    "app": 40 << 20,
    "web:v1": 250 << 20,
    "registry.example:5000/big": 4000 << 20,
    "registry.example/tool:1.0": 500 << 20,
    "tiny@sha256:" + "0" * 64: 10 << 20,
    "huge:latest": 9000 << 20,
    "middle": 700 << 20,
}
Parts = tuple[list[Manifest], list[Manifest]]


def node_unschedulable(draw: Draw) -> Parts:
    """Cordoned nodes and pods that do or do not mind."""
    cluster = nodes(draw, unschedulable=draw.pick((0.5, 0.9, 1.0)))
    pods = [pending(draw, number, tolerations=_cordon_tolerations(draw)) for number in range(4)]
    return [*cluster, *running(draw, cluster, 4)], pods


def taint_toleration(draw: Draw) -> Parts:
    """Tainted nodes, hard and soft, and all sorts of tolerations."""
    cluster = nodes(draw, taints=draw.pick((0.5, 0.8)))
    if draw.chance(0.25):
        for node in cluster:
            node["spec"]["taints"] = taint_list(draw, 0.9) or [{"key": "gpu", "effect": "NoSchedule"}]
    pods = [pending(draw, number, ("own-weights",), tolerations=tolerations(draw)) for number in range(6)]
    return [*cluster, *running(draw, cluster, 3)], pods


def tolerations(draw: Draw) -> list[Manifest]:
    """Tolerations, from none to all."""
    return [_toleration(draw) for _ in range(draw.number(0, 3))]


def node_affinity(draw: Draw) -> Parts:
    """Selectors and affinities over labels and names."""
    cluster = nodes(draw)
    profiles = ("added-affinity", "added-affinity", "own-weights")
    pods = [affine(draw, pending(draw, number, profiles), names_of(cluster)) for number in range(6)]
    return [*cluster, *running(draw, cluster, 3)], pods


def affine(draw: Draw, pod: Manifest, names: list[str]) -> Manifest:
    """Let a pod choose nodes by label or name, by need or by preference."""
    if draw.chance(0.25):
        pod["spec"]["nodeSelector"] = draw.labels(NODE_LABELS, 0.25)
    wish: Manifest = {}
    if draw.chance(0.45):
        terms = [_term(draw, names) for _ in range(draw.number(1, 3))]
        wish["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
    if draw.chance(0.7):
        preferred = [_preference(draw, names) for _ in range(draw.number(1, 4))]
        wish["preferredDuringSchedulingIgnoredDuringExecution"] = preferred
    if wish:
        pod["spec"].setdefault("affinity", {})["nodeAffinity"] = wish
    return pod


def node_ports(draw: Draw) -> Parts:
    """Few ports, few addresses, many conflicts."""
    cluster = nodes(draw, 2, 5)
    taken = [with_ports(draw, one) for one in running(draw, cluster, 10)]
    pods = [with_ports(draw, pending(draw, number, ("own-weights",))) for number in range(6)]
    return [*cluster, *taken], pods


def with_ports(draw: Draw, pod: Manifest) -> Manifest:
    """Give host ports to a pod's container, its sidecar, or an init container, where they do not count."""
    spec = pod["spec"]
    # Of two that share a port, the one that ends frees it for kube-scheduler: no client can read that from the cluster.
    if pod.get("status", {}).get("phase") in ("Succeeded", "Failed"):
        del pod["status"]
    if draw.chance(0.2):
        sidecar = {"name": "sidecar", "image": "app", "restartPolicy": "Always", "ports": _ports(draw, 8000)}
        spec.setdefault("initContainers", []).append(sidecar)
    if draw.chance(0.2):
        spec.setdefault("initContainers", []).append({"name": "init", "image": "app", "ports": _ports(draw, 8010)})
    if draw.chance(0.9):
        spec["containers"][0]["ports"] = _ports(draw, 8000)
    if draw.chance(0.1):
        spec["hostNetwork"] = True
        for container in [*spec["containers"], *spec.get("initContainers", [])]:
            for port in container.get("ports", []):
                port["containerPort"] = port["hostPort"]
    return pod


def without_shared_ports(objects: list[Manifest]) -> list[Manifest]:
    """Take host ports away from a placed pod if another one on its node has the same.

    For kube-scheduler such a port is free as soon as one of the two goes; ours counts both, so that no port is given
    away twice.
    """
    taken: set[tuple[Any, ...]] = set()
    for pod in objects:
        node = pod.get("spec", {}).get("nodeName") if pod["kind"] == "Pod" else None
        for container in _containers(pod) if node else ():
            ports = container.get("ports", [])
            keys = {
                (node, port.get("hostIP") or "0.0.0.0", port.get("protocol", "TCP"), port["hostPort"])  # noqa: S104
                for port in ports
            }
            if keys & taken:
                del container["ports"]
            taken |= keys
    return objects


def _containers(pod: Manifest) -> list[Manifest]:
    return [*pod["spec"]["containers"], *pod["spec"].get("initContainers", [])]


def image_locality(draw: Draw) -> Parts:
    """Images on some nodes, under all the ways to write their names."""
    cluster = nodes(draw)
    spread = draw.pick((0.2, 0.5, 0.9))
    for node in cluster:
        node["status"]["images"] = [_image(name) for name in IMAGES if draw.chance(spread)]
    pods = [with_images(draw, pending(draw, number, ("own-weights",))) for number in range(5)]
    return [*cluster, *running(draw, cluster, 3)], pods


def with_images(draw: Draw, pod: Manifest) -> Manifest:
    """Let a pod use images of the vocabulary in containers, init containers and volumes."""
    names = [*IMAGES, "absent", "app:latest", "middle:latest", "registry.example:5000/big:latest"]
    spec = pod["spec"]
    spec["containers"][0]["image"] = draw.pick(names)
    spec["containers"] += [{"name": f"more-{number}", "image": draw.pick(names)} for number in range(draw.number(0, 2))]
    if draw.chance(0.4):
        spec.setdefault("initContainers", []).append({"name": "first", "image": draw.pick(names)})
    if draw.chance(0.25):
        spec["volumes"] = [{"name": "image", "image": {"reference": draw.pick(names), "pullPolicy": "Never"}}]
    return pod


def node_declared_features(draw: Draw) -> Parts:
    """Pods that need what only some kubelets can do."""
    cluster = nodes(draw, 2, 6)
    most = draw.number(1, 3)
    for node in cluster:
        node["status"]["declaredFeatures"] = sorted(draw.some((*FEATURES, "SomethingElse"), 0, most))
    pods = [with_feature(draw, pending(draw, number)) for number in range(4)]
    return [*cluster, *running(draw, cluster, 2)], pods


def with_feature(draw: Draw, pod: Manifest) -> Manifest:
    """Let a pod need a feature of the node."""
    spec = pod["spec"]
    if draw.chance(0.6):
        spec |= {"hostNetwork": True, "hostUsers": draw.chance(0.2)}
    if draw.chance(0.5):
        exits = {"operator": "In", "values": [42]}
        rule = {"action": "RestartAllContainers", "exitCodes": exits}
        spec["containers"][0] |= {"restartPolicy": "Never", "restartPolicyRules": [rule]}
    return pod


def scheduling_gates(draw: Draw) -> Parts:
    """Gated pods among others."""
    cluster = nodes(draw, 2, 4)
    gates = draw.some(("example.com/quota", "example.com/licence", "wait"), 1)
    pods = [pending(draw, 0, gates=gates), pending(draw, 1), pending(draw, 2, gates=gates[:1], cpu="100")]
    return [*cluster, *running(draw, cluster, 3)], pods


def empty_cluster(draw: Draw) -> Parts:
    """No nodes at all, or none that anything fits on."""
    if draw.chance(0.5):
        return [], [pending(draw, number) for number in range(2)]
    cluster = nodes(draw, 1, 2, tight=True)
    crowd = [running_pod(draw, f"r{number}", draw.pick(names_of(cluster))) for number in range(draw.number(0, 3))]
    return [*cluster, *crowd], [pending(draw, number) for number in range(3)]


def _cordon_tolerations(draw: Draw) -> list[Manifest]:
    equal = {"key": UNSCHEDULABLE, "operator": "Equal", "effect": "NoSchedule"}
    choices: list[list[Manifest]] = [
        [],
        [],
        [{"operator": "Exists"}],
        [equal],
        [equal | {"value": "true"}],
        [{"key": UNSCHEDULABLE, "operator": "Exists", "effect": "NoExecute"}],
        [{"key": UNSCHEDULABLE, "operator": "Exists"}],
    ]
    return draw.pick(choices)


def _toleration(draw: Draw) -> Manifest:
    effect = draw.pick(("", "NoSchedule", "NoExecute", "PreferNoSchedule"))
    made = {"effect": effect} if effect else {}
    if draw.chance(0.12):
        return made | {"operator": "Exists"}
    made["key"] = draw.pick(TAINT_KEYS)
    if draw.chance(0.4):
        return made | {"operator": "Exists"}
    return made | {"value": draw.pick(TAINT_VALUES)} | ({"operator": "Equal"} if draw.chance(0.5) else {})


def _term(draw: Draw, names: list[str]) -> Manifest:
    if draw.chance(0.06):
        return {}
    term: Manifest = {}
    if draw.chance(0.8):
        keys = draw.some((*NODE_LABELS, "absent"), 1, 2)
        term["matchExpressions"] = [
            draw.requirement(key, NODE_LABELS.get(key, ("x",)), ("Gt", "Lt") if key == "gen" else ()) for key in keys
        ]
    if draw.chance(0.25):
        operators = draw.pick((["In"], ["In"], ["NotIn"], ["In", "In"]))
        term["matchFields"] = [
            {"key": "metadata.name", "operator": operator, "values": [draw.pick([*names, "nowhere"])]}
            for operator in operators
        ]
    return term


def _preference(draw: Draw, names: list[str]) -> Manifest:
    preference = _term(draw, names) if draw.chance(0.8) else {"matchExpressions": [draw.requirement(ZONE, ("a", "b"))]}
    return {"weight": draw.pick((1, 2, 5, 50, 100)), "preference": preference}


def _ports(draw: Draw, first: int) -> list[Manifest]:
    found = {}
    for _ in range(draw.number(1, 2)):
        port: Manifest = {"containerPort": 80, "hostPort": first + draw.number(0, 2)}
        if draw.chance(0.4):
            port["protocol"] = draw.pick(("UDP", "TCP", "SCTP"))
        if draw.chance(0.5):
            port["hostIP"] = draw.pick(("0.0.0.0", "127.0.0.1", "10.0.0.1", "::"))  # noqa: S104
        found[port["hostPort"]] = port
    return list(found.values())


def _image(name: str) -> Manifest:
    is_exact = ":" in name.rpartition("/")[2]
    return {"names": [name if is_exact else f"{name}:latest"], "sizeBytes": IMAGES[name]}
