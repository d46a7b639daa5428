"""What a pod asks for in numbers: requests of all kinds, on nodes that are full, over-full and empty."""

from oracle.draw import GPU, Draw
from oracle.generate_cluster import MEMORIES, REQUESTS, names_of, nodes, pending, requests, running_pod
from oracle.generate_nodes import Parts
from oracle.scenario import Manifest

PROFILES = ("most-allocated", "capacity-ratio", "least-of-all")
RARE = (GPU, "example.com/ignored", "ignored.example.com/x", "kubernetes.io/something", "example.com/absent")
HUGE = "hugepages-2Mi"


def node_resources_fit(draw: Draw) -> Parts:
    """Every kind of request against every kind of room."""
    cluster = _sized(draw)
    crowd = [with_more_requests(draw, one) for one in _crowd(draw, cluster, 14)]
    pods = []
    for number in range(7):
        wanted = {"cpu": draw.pick(("2", "3", "5", "9")), "memory": draw.pick(("1Gi", "7Gi", "20Gi"))}
        pod = pending(draw, number, PROFILES, requests=wanted if draw.chance(0.3) else requests(draw))
        pods.append(with_more_requests(draw, pod))
    return [*cluster, *crowd], pods


def balanced_allocation(draw: Draw) -> Parts:
    """Nodes that are full on one side, and pods that lean to the other."""
    cluster = _sized(draw)
    crowd = _crowd(draw, cluster, 14)
    pods = [pending(draw, number, ("most-allocated", "own-weights")) for number in range(7)]
    for pod in pods:
        wanted = {"cpu": draw.pick(REQUESTS)} if draw.chance(0.7) else {}
        wanted |= {"memory": draw.pick(MEMORIES)} if draw.chance(0.7) else {}
        _main(pod)["requests"] = wanted
        if draw.chance(0.3):
            _extended(draw, pod, GPU)
    return [*cluster, *crowd], pods


def resized_pods(draw: Draw) -> Parts:
    """Running pods whose size is being changed: what was asked, allotted and used differ."""
    cluster = nodes(draw, 2, 5, tight=True)
    crowd = [_resized(draw, one) for one in _crowd(draw, cluster, 6)]
    return [*cluster, *crowd], [pending(draw, number, PROFILES) for number in range(6)]


def _sized(draw: Draw) -> list[Manifest]:
    cluster = nodes(draw, 2, 7, tight=True)
    for node in cluster:
        room = node["status"]["allocatable"]
        if draw.chance(0.3):
            room[HUGE] = draw.pick(("0", "64Mi", "512Mi"))
        for name in RARE[1:4]:
            if draw.chance(0.2):
                room[name] = str(draw.number(0, 3))
        node["status"]["capacity"] = dict(room)
    return cluster


def _crowd(draw: Draw, cluster: list[Manifest], most: int) -> list[Manifest]:
    return [
        running_pod(draw, f"r{number}", draw.pick(names_of(cluster)), elsewhere=0.05)
        for number in range(draw.number(0, most))
    ]


def with_more_requests(draw: Draw, pod: Manifest) -> Manifest:
    """Add containers, overhead, pod-level requests or rare resources to a pod."""
    spec = pod["spec"]
    if draw.chance(0.3):
        spec["containers"].append({"name": "second", "image": "app", "resources": {"requests": requests(draw)}})
    if draw.chance(0.3):
        spec.setdefault("initContainers", []).extend(_init(draw, number) for number in range(draw.number(1, 3)))
    if draw.chance(0.15):
        spec["overhead"] = {"cpu": draw.pick(("1m", "250m")), "memory": draw.pick(("1", "120Mi"))}
    if draw.chance(0.35):
        _extended(draw, pod, draw.pick(RARE))
    if draw.chance(0.15):
        _main(pod).setdefault("requests", {})["ephemeral-storage"] = draw.pick(("0", "1Gi", "20Gi", "200Gi"))
    if draw.chance(0.1):
        _main(pod).setdefault("requests", {}).setdefault("memory", "1Mi")
        _both(pod, HUGE, draw.pick(("2Mi", "64Mi", "128Mi")))
    if draw.chance(0.15):
        spec["resources"] = {"requests": {"cpu": draw.pick(("3", "6", "12")), "memory": draw.pick(("8Gi", "24Gi"))}}
        _shrink_to_pod_level(pod)
    return pod


def _init(draw: Draw, number: int) -> Manifest:
    sidecar = {"restartPolicy": "Always"} if draw.chance(0.5) else {}
    return {"name": f"before-{number}", "image": "app", "resources": {"requests": requests(draw)}, **sidecar}


def _extended(draw: Draw, pod: Manifest, name: str) -> None:
    _both(pod, name, draw.pick(("0", "1", "1", "2", "5")))


def _both(pod: Manifest, name: str, amount: str) -> None:
    # The API takes such a resource only when limit and request agree.
    for side in ("requests", "limits"):
        _main(pod).setdefault(side, {})[name] = amount


def _shrink_to_pod_level(pod: Manifest) -> None:
    """Containers must not ask for more than their pod, and what is rare stays theirs."""
    for container in [*pod["spec"]["containers"], *pod["spec"].get("initContainers", [])]:
        wanted = container.get("resources", {}).get("requests", {})
        for name, small in (("cpu", "500m"), ("memory", "500Mi")):
            if name in wanted:
                wanted[name] = small


def _resized(draw: Draw, pod: Manifest) -> Manifest:
    allotted = {"cpu": draw.pick(REQUESTS[1:]), "memory": draw.pick(MEMORIES[1:])}
    used = {"cpu": draw.pick(REQUESTS[1:]), "memory": draw.pick(MEMORIES[1:])}
    _main(pod)["requests"] = {"cpu": draw.pick(REQUESTS[1:]), "memory": draw.pick(MEMORIES[1:])}
    status: Manifest = {"name": "main", "image": "app", "imageID": "app", "ready": True, "restartCount": 0}
    if draw.chance(0.7):
        status["allocatedResources"] = allotted
    if draw.chance(0.7):
        status["resources"] = {"requests": used}
    pod["status"] = {"phase": "Running", "containerStatuses": [status] if draw.chance(0.8) else []}
    if draw.chance(0.5):
        reason = draw.pick(("Infeasible", "Deferred"))
        pod["status"]["conditions"] = [{"type": "PodResizePending", "status": "True", "reason": reason}]
    return pod


def _main(pod: Manifest) -> Manifest:
    found: Manifest = pod["spec"]["containers"][0].setdefault("resources", {})
    return found
