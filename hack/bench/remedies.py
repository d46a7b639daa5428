"""The cost of looking for remedies: milliseconds of CPU in all and of the longest step, on a cluster in memory.

python -m bench.remedies [--nodes 5000]

Pods are searched for in the cluster itself, as beside a running scheduler; gangs of up to 128 pods in a copy of it,
whose cost is shown; larger gangs are counted. The last lines are pods at the limits of docs/operations.md.
"""

import argparse
from collections.abc import Callable, Generator, Sequence
from time import thread_time
from typing import Any

from pilotage import app
from pilotage.app import calm_garbage_collection
from pilotage.model import limits
from pilotage.model.pod import Pod
from pilotage.offline.simulation import Simulation
from pilotage.offline.what_if.pace import Pace
from pilotage.offline.what_if.world import Scheduling, World, moment_of
from pilotage.scheduling.remedies import Gate, Remedies, Siblings, search, siblings_of
from pilotage.testing import make_node, make_pod

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
PODS_ON_A_NODE = 4
ROUNDS = 5  # of which the fastest counts
SPREAD = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
APART = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "a1"}}}
GANG_NAME, GANG_SIZE = "pod-group.pilotage.dev/name", "pod-group.pilotage.dev/min-available"
CONFIGURATION = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins:
    multiPoint: {enabled: [{name: Coscheduling}]}
    queueSort: {enabled: [{name: Coscheduling}], disabled: [{name: "*"}]}
"""

Steps = Generator[None, None, Remedies]


def cluster(nodes: int) -> Simulation:
    """Return a cluster whose nodes have a core left each; every twentieth is tainted."""
    simulated = app.simulation(app.configured(CONFIGURATION).profiles())
    for place in range(nodes):
        labels = {ZONE: f"z{place % 3}", HOST: f"n{place}", "disk": "ssd" if place % 7 == 0 else "hdd"}
        taints = [] if place % 20 else [{"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}]
        simulated.add(make_node(f"n{place}", cpu="4", memory="16Gi", labels=labels, taints=taints))
    for place in range(PODS_ON_A_NODE * nodes):
        labels = {"app": f"a{place % 50}"}
        simulated.add(make_pod(f"p{place}", node=f"n{place % nodes}", cpu="700m", memory="3Gi", labels=labels))
    return simulated


def waiting() -> dict[str, Pod]:
    """Return waiting pods, by their obstacles."""
    spread = [SPREAD | {"labelSelector": {"matchLabels": {"app": "a1"}}}]
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [APART]}}
    return {
        "cpu": make_pod("cpu", cpu="3"),
        "cpu and a label": make_pod("label", cpu="3", node_selector={"disk": "nvme"}),
        "cpu and spread": make_pod("spread", cpu="3", labels={"app": "a1"}, spec={"topologySpreadConstraints": spread}),
        "cpu and a port": make_pod("port", cpu="3", host_ports=[8080]),
        "anti-affinity": make_pod("apart", cpu="100m", labels={"app": "a1"}, affinity=apart),
        "the name of a node": make_pod("host", node_selector={HOST: "n77777"}),
        "a gate": make_pod("gate", cpu="3", spec={"schedulingGates": [{"name": "example.com/quota"}]}),
    }


def at_the_limits() -> dict[str, Pod]:
    """Return pods that have as much of something as a pod may have."""
    terms = [_condition(f"k{each}") for each in range(limits.MOST_NODE_CONDITIONS)]
    affine = {"requiredDuringSchedulingIgnoredDuringExecution": [{"matchExpressions": [each]} for each in terms]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": affine.popitem()[1]}}
    apart = [
        {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": f"a{each % 50}", f"x{each}": "y"}}}
        for each in range(limits.MOST_POD_TERMS)
    ]
    spread = [
        SPREAD | {"topologyKey": key, "labelSelector": {"matchLabels": {"app": f"a{each}"}}}
        for each, key in enumerate([ZONE, HOST] * (limits.MOST_SPREADS // 2))
    ]
    near = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": apart}}
    return {
        "terms for nodes": make_pod("terms", affinity={"nodeAffinity": required}),
        "node labels": make_pod("labels", node_selector={f"k{each}": "v" for each in range(len(terms))}),
        "terms for pods": make_pod("near", affinity=near),
        "host ports": make_pod("ports", cpu="3", host_ports=[*range(1, limits.MOST_HOST_PORTS + 1)]),
        "spread": make_pod("spreads", cpu="3", spec={"topologySpreadConstraints": spread}),
        "resources": make_pod("requests", requests={f"example.com/{each}": 1 for each in range(limits.MOST_RESOURCES)}),
    }


def _condition(key: str) -> dict[str, Any]:
    return {"key": key, "operator": "In", "values": ["x"]}


def gang(simulated: Simulation, name: str, number: int, *, alike: bool) -> tuple[Pod, Siblings]:
    """Let a gang appear that finds no room, and return one of its pods."""
    labels = {GANG_NAME: name, GANG_SIZE: str(number)}
    pods = [
        make_pod(f"{name}-{each}", cpu="3" if alike else f"{3000 - each}m", labels=labels) for each in range(number)
    ]
    for pod in pods:
        simulated.add(pod)
    found = siblings_of(simulated.queue, simulated.engines[pods[0].scheduler_name], pods[0])
    assert found is not None
    return pods[0], found


def timed(steps: Generator[None, None, Any]) -> tuple[list[float], Any]:
    """Return how many seconds each step took, and what was found."""
    taken = []
    while True:
        start = thread_time()
        try:
            next(steps)
        except StopIteration as end:
            taken.append(thread_time() - start)
            return taken, end.value
        taken.append(thread_time() - start)


def steps_of(simulated: Simulation, pod: Pod, siblings: Siblings | None = None) -> Steps:
    """Return a search in the cluster itself, as beside a running scheduler."""
    engine = simulated.engines[pod.scheduler_name]
    gate = Gate("SchedulingGates", "it has a gate") if pod.spec.scheduling_gates else None
    return search(simulated.cache, engine, simulated.queue.nominator, pod, siblings, gate)


def show(name: str, steps: Callable[[], Steps], rounds: int = ROUNDS) -> None:
    """Print what the fastest of some rounds took."""
    taken, found = min((timed(steps()) for _ in range(rounds)), key=lambda each: sum(each[0]))
    in_all, longest = 1000 * sum(taken), 1000 * max(taken)
    print(
        f"{name:28} {in_all:7.1f} ms in {len(taken):4} steps, the longest {longest:5.1f} ms; "
        f"{found.tries} tries, {len(found.remedies)} remedies"
    )


def copied(simulated: Simulation) -> World:
    """Copy the cluster, and print what that takes in slices."""
    ready = app.configured(CONFIGURATION)
    scheduling = Scheduling(lambda cache, _specs, _evicting: app.simulation(ready.profiles(), cache=cache))
    start = thread_time()
    moment = moment_of(simulated.cache, simulated.queue)
    first = thread_time() - start
    world = World(moment, scheduling)
    taken, _ = timed(Pace(60.0).through(world.steps()))
    print(
        f"{'a copy of the cluster':28} {1000 * (first + sum(taken)):7.1f} ms in {len(taken):4} steps, "
        f"the longest {1000 * max(first, *taken):5.1f} ms"
    )
    return world


def main(words: Sequence[str] | None = None) -> None:
    """Print a line for each kind of pod."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=5000)
    simulated = cluster(parser.parse_args(words).nodes)
    calm_garbage_collection()
    for name, pod in waiting().items():
        show(name, lambda pod=pod: steps_of(simulated, pod))  # type: ignore[misc]
    world = copied(simulated)
    for name, number, alike in (("128 pods that are alike", 128, True), ("128 pods of 128 kinds", 128, False)):
        inside = world.scheduling.simulation(world.cache, {}, True)
        timed(world.cache.catch_up())  # type: ignore[arg-type]
        pod, siblings = gang(inside, f"g{number}-{alike}", number, alike=alike)
        show(name, lambda inside=inside, pod=pod, siblings=siblings: inside.search(pod, siblings), 2)  # type: ignore[misc]
        inside.close()
    pod, siblings = gang(simulated, "large", 10_000, alike=True)
    show("10,000 pods, counted", lambda: steps_of(simulated, pod, siblings))
    for name, pod in at_the_limits().items():
        show(f"limit of {name}", lambda pod=pod: steps_of(simulated, pod), 2)  # type: ignore[misc]


if __name__ == "__main__":
    main()
