"""What the engine is measured with: clusters that are half full, and pods of many kinds."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from bench.devices import devices_and_claims, with_claims
from pilotage.kinds.kube_object import KubeObject
from pilotage.model.gangs import MIN_LABEL, NAME_LABEL
from pilotage.model.node import Node
from pilotage.model.pod import Pod
from pilotage.testing import Manifest, make_node, make_pod

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
ZONES = 3
PER_NODE = 4  # pods that are there before: half of each node's cpu


@dataclass(frozen=True)
class Workload:
    """Pods to place on a cluster, and how fast it should go."""

    name: str
    pods: Callable[[int], Iterator[Pod]]  # given their number
    count: int
    target: int | None = None  # pods per second at 5,000 nodes
    before: Callable[[int], Iterator[Pod]] | None = None  # as many as nodes, placed first and not measured
    preemption: bool = True
    is_gang: bool = False  # all of them are placed in one decision, or none
    objects: Callable[[int, int], Iterator[KubeObject]] | None = None  # given the numbers of nodes and pods
    is_burst: bool = False  # of preemptors, on a cluster of its own: see bench.preemptors


def cluster(nodes: int) -> tuple[list[Node], list[Pod]]:
    """Return nodes of 4 cpus in three zones, and the pods that fill half of each."""
    made = [make_node(f"node-{i}", cpu="4", memory="32Gi", labels={ZONE: f"zone-{i % ZONES}"}) for i in range(nodes)]
    running = [
        make_pod(f"old-{i}", cpu="500m", memory="4Gi", labels={"app": "old"}, node=f"node-{i % nodes}")
        for i in range(PER_NODE * nodes)
    ]
    return made, running


def identical(count: int) -> Iterator[Pod]:
    """Yield pods of one shape."""
    return (make_pod(f"same-{i}", cpu="100m", memory="500Mi", labels={"app": "same"}) for i in range(count))


def shapes(count: int) -> Iterator[Pod]:
    """Yield pods of 500 shapes in turn."""
    return (make_pod(f"shape-{i}", cpu=f"{50 + i % 500}m", memory="100Mi") for i in range(count))


def spread(count: int) -> Iterator[Pod]:
    """Yield pods that must be even over zones."""
    constraint = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "spread"}},
    }
    return _labelled("spread", count, {"topologySpreadConstraints": [constraint]})


def apart(count: int) -> Iterator[Pod]:
    """Yield pods of ten kinds, of which no node takes two of the same."""
    for i in range(count):
        app = f"apart-{i % 10}"
        affinity = {"podAntiAffinity": _required(app, HOST)}
        yield make_pod(f"{app}-{i}", cpu="10m", memory="10Mi", labels={"app": app}, affinity=affinity)


def together(count: int) -> Iterator[Pod]:
    """Yield pods that want to be in the zone of their kind."""
    return _labelled("together", count, {"affinity": {"podAffinity": _required("together", ZONE)}})


def too_large(count: int) -> Iterator[Pod]:
    """Yield pods of 100 shapes that fit nowhere."""
    return (make_pod(f"large-{i}", cpu=f"{5000 + i % 100}m", memory="500Mi") for i in range(count))


def gang(count: int) -> Iterator[Pod]:
    """Yield pods that start together or not at all."""
    labels = {NAME_LABEL: "gang", MIN_LABEL: str(count)}
    return (make_pod(f"gang-{i}", cpu="1", memory="500Mi", labels=labels) for i in range(count))


def _labelled(app: str, count: int, spec: Manifest) -> Iterator[Pod]:
    numbers = range(count)
    return (make_pod(f"{app}-{i}", cpu="10m", memory="10Mi", labels={"app": app}, spec=spec) for i in numbers)


def _required(app: str, key: str) -> Manifest:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}
    return {"requiredDuringSchedulingIgnoredDuringExecution": [term]}


WORKLOADS = [
    Workload("identical pods", identical, 5_000, 10_000),
    Workload("500 shapes", shapes, 5_000, 2_500),
    Workload("required zone spread", spread, 5_000, 2_500),
    Workload("hostname anti-affinity, 5,000 placed", apart, 3_000, 2_000, before=apart),
    Workload("zone affinity, 5,000 placed", together, 3_000, 2_000, before=together),
    Workload("one claim a pod, 8 devices a node", with_claims, 3_000, 3_000, objects=devices_and_claims),
    Workload("unschedulable, 100 shapes", too_large, 10_000, 5_000, preemption=False),
    Workload("unschedulable, with preemption", too_large, 2_000),
    Workload("a gang, in one decision", gang, 1_000, is_gang=True),
    Workload("preemptors, until all are bound", identical, 1_000, is_burst=True),
]
