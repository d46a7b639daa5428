"""Pods that may evict others, budgets that protect those, and places that are nominated for someone."""

from oracle.draw import POD_LABELS, Draw
from oracle.generate_affinity import with_pod_affinity
from oracle.generate_cluster import names_of, nodes, pending, running_pod
from oracle.generate_nodes import Parts, with_ports
from oracle.generate_spread import spread_pod
from oracle.scenario import TERMINATING, Manifest

PRIORITIES = (-10, 0, 0, 10, 100)
STARTED = "2026-01-01T{hour:02}:{minute:02}:00Z"


def default_preemption(draw: Draw) -> Parts:
    """Full nodes, priorities, and budgets."""
    cluster = nodes(draw, 2, 6, tight=True)
    crowd = [_placed(draw, f"r{number}", names_of(cluster), number) for number in range(draw.number(4, 16))]
    budgets = [_budget(draw, number, crowd) for number in range(draw.number(0, 2))]
    return [*budgets, *cluster, *crowd], [_urgent(draw, number) for number in range(5)]


def preemption_beyond_room(draw: Draw) -> Parts:
    """Evictions that free ports, zones or company rather than room."""
    cluster = nodes(draw, 2, 5, tight=draw.chance(0.5))
    crowd = [_placed(draw, f"r{number}", names_of(cluster), number) for number in range(draw.number(4, 12))]
    with_more = draw.pick((with_ports, with_pod_affinity, spread_pod))
    for pod in crowd:
        if with_more is not spread_pod:
            with_more(draw, pod)
    pods = [with_more(draw, _urgent(draw, number)) for number in range(5)]
    if with_more is with_ports:
        for pod in pods:
            # A profile that does not look at ports would let two pods share one, and see without_shared_ports.
            pod["spec"]["schedulerName"] = "default-scheduler"
    if draw.chance(0.5):
        for pod in pods:
            pod["spec"]["priority"] = 1000
    return [*cluster, *crowd], pods


def nominated_pods(draw: Draw) -> Parts:
    """Room that is nominated for waiting pods, and pods to whom it is nominated."""
    cluster = nodes(draw, 2, 5, tight=draw.chance(0.5))
    names = names_of(cluster)
    crowd = [_placed(draw, f"r{number}", names, number) for number in range(draw.number(2, 8))]
    for pod in draw.some(crowd, 0, 2):
        _evict(pod)
    nominated = [_nominated(draw, number, names) for number in range(draw.number(1, 3))]
    pods = [_urgent(draw, number) for number in range(5)]
    for pod in pods:
        if draw.chance(0.35):
            pod["status"] = {"nominatedNodeName": draw.pick([*names, "gone"])}
    return [*cluster, *crowd, *nominated], pods


def _placed(draw: Draw, name: str, names: list[str], number: int) -> Manifest:
    pod = running_pod(draw, name, draw.pick(names), elsewhere=0.1)
    pod["spec"]["priority"] = draw.pick(PRIORITIES)
    if draw.chance(0.8):
        wanted = {"cpu": draw.pick(("500m", "1", "2")), "memory": draw.pick(("500Mi", "1Gi", "3Gi"))}
        pod["spec"]["containers"][0]["resources"] = {"requests": wanted}
    # A pod without a start counts as started now, which is never twice the same.
    started = STARTED.format(hour=number % 4 if draw.chance(0.7) else 0, minute=number)
    pod["status"] = {"phase": "Running", "startTime": started}
    return pod


def _evict(pod: Manifest) -> None:
    """A pod that makes way for another, which must then be waited for."""
    evicted = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    pod["status"]["conditions"] = [evicted]
    pod["metadata"]["deletionTimestamp"] = TERMINATING


def _urgent(draw: Draw, number: int) -> Manifest:
    wanted = {"cpu": draw.pick(("500m", "1", "2", "3")), "memory": draw.pick(("200Mi", "1Gi", "4Gi"))}
    pod = pending(draw, number, ("own-weights",), requests=wanted)
    pod["spec"]["priority"] = draw.pick((0, 10, 50, 100, 1000, 1000))
    if draw.chance(0.15):
        pod["spec"]["preemptionPolicy"] = draw.pick(("Never", "PreemptLowerPriority"))
    return pod


def _nominated(draw: Draw, number: int, names: list[str]) -> Manifest:
    """A pod that waits with a node written down; its gate keeps the scheduler from deciding it."""
    wanted = {"cpu": draw.pick(("500m", "1", "2")), "memory": draw.pick(("200Mi", "2Gi"))}
    pod = pending(draw, 90 + number, requests=wanted, gates=["example.com/wait"])
    pod["spec"]["priority"] = draw.pick((0, 10, 100, 1000))
    if draw.chance(0.3):
        with_pod_affinity(draw, pod)
    pod["status"] = {"nominatedNodeName": draw.pick(names)}
    return pod


def _budget(draw: Draw, number: int, crowd: list[Manifest]) -> Manifest:
    selector = draw.pick(({"matchLabels": {"app": draw.pick(POD_LABELS["app"])}}, {}, None, draw.pod_selector()))
    spared = draw.some([one["metadata"]["name"] for one in crowd], 0, 1) if draw.chance(0.4) else []
    status = {
        "disruptionsAllowed": draw.number(0, 2),
        "currentHealthy": 3,
        "desiredHealthy": 1,
        "expectedPods": 3,
        "disruptedPods": dict.fromkeys(spared, "2026-01-01T00:00:00Z"),
    }
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": f"budget-{number}", "namespace": "default"},
        "spec": {"maxUnavailable": 1} | ({} if selector is None else {"selector": selector}),
        "status": status,
    }
