"""Tallies of less important pods, which must always equal a fresh count."""

import random
from typing import Any

import numpy as np

from pilotage.framework.api.nodes import Nodes
from pilotage.framework.runtime.preemption.lower_priority import PRIORITIES, LowerPriorityUsage
from pilotage.model.pod import Pod
from pilotage.testing import FakeCluster, make_node, make_pod

RESOURCES = ("cpu", "memory", "nvidia.com/gpu", "never/asked")


def counted(nodes: Nodes, priority: int) -> dict[str, list[int]]:
    lower = [[pod for pod in info.pods.values() if pod.priority < priority] for info in nodes]
    used = {name: [sum(pod.usage.get(name, 0) for pod in pods) for pods in lower] for name in RESOURCES}
    return {"count": [len(pods) for pods in lower], **used}


def tallied(usage: LowerPriorityUsage, nodes: Nodes, priority: int) -> dict[str, list[int]]:
    tally = usage.below(priority, nodes)
    used = {name: np.broadcast_to(tally.used(name), len(nodes)).tolist() for name in RESOURCES}
    return {"count": tally.counts.tolist(), **used}


def some_pod(rng: random.Random, number: int, node: str) -> Pod:
    requests: dict[str, Any] = {"cpu": f"{rng.randint(0, 9)}00m"}
    if rng.random() < 0.5:
        requests["memory"] = f"{rng.randint(1, 9)}Mi"
    if rng.random() < 0.2:
        requests["nvidia.com/gpu"] = rng.randint(1, 3)
    return make_pod(f"p{number}", priority=rng.choice([-7, 0, 5, 10]), requests=requests, node=node)


def test_only_strictly_lower_priorities_count() -> None:
    pods = [make_pod(f"p{n}", priority=n, cpu="1", node="n1") for n in range(4)]
    cluster = FakeCluster([make_node("n1"), make_node("n2")], pods)
    assert tallied(LowerPriorityUsage(), cluster.nodes, 2)["count"] == [2, 0]


def test_tallies_follow_the_cluster() -> None:
    rng = random.Random(1)
    cluster, usage, alive = FakeCluster(), LowerPriorityUsage(), dict[str, Pod]()
    names: list[str] = []
    for step in range(600):
        match rng.choice(["pod", "pod", "pod", "gone", "gone", "node", "no node"]):
            case "node":
                names.append(f"n{step}")
                cluster.cache.put_node(make_node(names[-1]))
            case "no node" if len(names) > 5:
                gone = names.pop(rng.randrange(len(names)))
                cluster.cache.remove_node(gone)
            case "pod" if names:
                pod = some_pod(rng, step, rng.choice(names))
                alive[pod.uid] = pod
                cluster.add_pod(pod)
            case "gone" if alive:
                cluster.remove_pod(alive.pop(rng.choice(sorted(alive))))
        if rng.random() < 0.4:
            priority = rng.choice([-7, 0, 1, 6, 100])
            assert tallied(usage, cluster.nodes, priority) == counted(cluster.nodes, priority)


def test_only_what_changed_is_counted_again() -> None:
    cluster = FakeCluster([make_node("n1"), make_node("n2")], [make_pod("a", priority=1, cpu="1", node="n1")])
    usage = LowerPriorityUsage()
    usage.below(5, cluster.nodes)
    cluster.nodes[0].pods.clear()  # behind the back of the cache, so that nobody is told
    cluster.add_pod(make_pod("b", priority=1, cpu="2", node="n2"))
    assert tallied(usage, cluster.nodes, 5)["cpu"] == [1000, 2000]


def test_another_cluster_is_counted_from_the_start() -> None:
    usage = LowerPriorityUsage()
    for cpu in ("1", "2"):
        cluster = FakeCluster([make_node("n1")], [make_pod(priority=1, cpu=cpu, node="n1")])
        assert tallied(usage, cluster.nodes, 5)["cpu"] == [int(cpu) * 1000]


def test_more_priorities_than_are_kept() -> None:
    cluster, usage = FakeCluster([make_node("n1")]), LowerPriorityUsage()
    for priority in [*range(3 * PRIORITIES), *range(3 * PRIORITIES)]:
        cluster.add_pod(make_pod(priority=priority, cpu="1", node="n1"))
        assert tallied(usage, cluster.nodes, priority) == counted(cluster.nodes, priority)
