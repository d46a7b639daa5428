"""What it costs to look for remedies: milliseconds in all, and of the longest step, on a cluster in memory.

python -m bench.remedies [--nodes 5000]
"""

import argparse
from collections.abc import Sequence
from time import thread_time

from pilotage import app
from pilotage.model.pod import Pod
from pilotage.offline.simulation import Simulation
from pilotage.scheduling.remedies import Remedies
from pilotage.testing import make_node, make_pod

ZONE = "topology.kubernetes.io/zone"
PODS_ON_A_NODE = 4
ROUNDS = 5  # of which the fastest counts
SPREAD = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
APART = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "a1"}}}


def cluster(nodes: int) -> Simulation:
    """Return a cluster whose nodes have a core left each; every twentieth is tainted."""
    simulated = app.simulation(app.configured(None).profiles())
    for place in range(nodes):
        labels = {ZONE: f"z{place % 3}", "disk": "ssd" if place % 7 == 0 else "hdd"}
        taints = [] if place % 20 else [{"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}]
        simulated.add(make_node(f"n{place}", cpu="4", memory="16Gi", labels=labels, taints=taints))
    for place in range(PODS_ON_A_NODE * nodes):
        labels = {"app": f"a{place % 50}"}
        simulated.add(make_pod(f"p{place}", node=f"n{place % nodes}", cpu="700m", memory="3Gi", labels=labels))
    return simulated


def waiting() -> dict[str, Pod]:
    """Return pods that wait, by what is in their way."""
    spread = [SPREAD | {"labelSelector": {"matchLabels": {"app": "a1"}}}]
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [APART]}}
    return {
        "cpu": make_pod("cpu", cpu="3"),
        "cpu and a label": make_pod("label", cpu="3", node_selector={"disk": "nvme"}),
        "cpu and spread": make_pod("spread", cpu="3", labels={"app": "a1"}, spec={"topologySpreadConstraints": spread}),
        "cpu and a port": make_pod("port", cpu="3", host_ports=[8080]),
        "anti-affinity": make_pod("apart", cpu="100m", labels={"app": "a1"}, affinity=apart),
    }


def steps_of(simulated: Simulation, pod: Pod) -> tuple[list[float], Remedies]:
    """Return how many seconds each step of a search took, and what was found."""
    steps, taken = simulated.search(pod), []
    while True:
        start = thread_time()
        try:
            next(steps)
        except StopIteration as end:
            taken.append(thread_time() - start)
            found: Remedies = end.value
            return taken, found
        taken.append(thread_time() - start)


def main(words: Sequence[str] | None = None) -> None:
    """Print a line for each kind of pod."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=5000)
    simulated = cluster(parser.parse_args(words).nodes)
    for name, pod in waiting().items():
        taken, found = min((steps_of(simulated, pod) for _ in range(ROUNDS)), key=lambda each: sum(each[0]))
        print(
            f"{name:16} {1000 * sum(taken):5.1f} ms in {len(taken):2} steps, the longest {1000 * max(taken):4.1f} ms; "
            f"{found.tries} tries, {len(found.remedies)} remedies"
        )


if __name__ == "__main__":
    main()
