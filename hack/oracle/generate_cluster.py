"""Nodes and the pods that run on them."""

from oracle.draw import GPU, HOSTNAME, NODE_LABELS, POD_LABELS, TEAMS, Draw
from oracle.scenario import TERMINATING, Manifest
from pilotage.testing.manifests import node_manifest, pod_manifest

EFFECTS = ("NoSchedule", "NoSchedule", "NoExecute", "PreferNoSchedule", "PreferNoSchedule")
TAINT_KEYS = ("dedicated", "gpu", "slow")
TAINT_VALUES = ("a", "b", "")
REQUESTS = ("0", "100m", "250m", "333m", "500m", "1", "1500m", "2")
MEMORIES = ("0", "64Mi", "200Mi", "333333333", "1Gi", "2Gi", "100M")


def nodes(
    draw: Draw, least: int = 3, most: int = 9, *, taints: float = 0.06, unschedulable: float = 0.03, tight: bool = False
) -> list[Manifest]:
    """Some nodes of different sizes, labelled here and there; tight ones are small, and some take few pods."""
    names = [f"n{number}-{draw.seed}" for number in range(draw.number(least, most))]
    size = _tight_size if tight else _ample_size
    # One size for all gives equal scores, which is where tie rules show.
    shared = size(draw) if draw.chance(0.3) else None
    labelled = draw.pick((0.7, 0.9, 1.0))
    return [_node(draw, name, shared or size(draw), labelled, taints, unschedulable) for name in names]


def names_of(cluster: list[Manifest]) -> list[str]:
    """The names of the nodes among some objects."""
    return [one["metadata"]["name"] for one in cluster if one["kind"] == "Node"]


def taint_list(draw: Draw, probability: float) -> list[Manifest]:
    """Taints of one node."""
    found: dict[tuple[str, str], Manifest] = {}
    while draw.chance(probability) and len(found) < 4:
        taint = {"key": draw.pick(TAINT_KEYS), "effect": draw.pick(EFFECTS), "value": draw.pick(TAINT_VALUES)}
        found[taint["key"], taint["effect"]] = taint
    return list(found.values())


def running(draw: Draw, cluster: list[Manifest], most: int = 10, *, elsewhere: float = 0.2) -> list[Manifest]:
    """Pods on these nodes, sometimes on few of them."""
    names = names_of(cluster)
    crowded = draw.some(names, 1, 2) if draw.chance(0.4) else names
    return [
        running_pod(draw, f"r{number}", draw.pick(crowded), elsewhere=elsewhere)
        for number in range(draw.number(0, most))
    ]


def running_pod(draw: Draw, name: str, node: str, *, elsewhere: float = 0.2) -> Manifest:
    """One pod on a node, in any namespace; sometimes on its way out, or done and no longer counted."""
    made = pod_manifest(
        name,
        namespace=draw.pick(TEAMS) if draw.chance(elsewhere) else "default",
        node=node,
        labels=draw.labels(POD_LABELS),
        requests=requests(draw),
    )
    if draw.chance(0.06):
        made["metadata"]["deletionTimestamp"] = TERMINATING
    elif draw.chance(0.04):
        made["status"] = {"phase": draw.pick(("Succeeded", "Failed"))}
    return made


def requests(draw: Draw) -> dict[str, str]:
    """A container's requests; what is absent differs from what is zero."""
    wanted = {}
    if draw.chance(0.6):
        wanted["cpu"] = draw.pick(REQUESTS)
    if draw.chance(0.6):
        wanted["memory"] = draw.pick(MEMORIES)
    return wanted


def pending(draw: Draw, number: int, profiles: tuple[str, ...] = (), **fields: object) -> Manifest:
    """A pod to decide, sometimes by another profile than the default one."""
    scheduler = draw.pick(profiles) if profiles and draw.chance(0.35) else None
    given: dict[str, object] = {
        "namespace": draw.pick(TEAMS) if draw.chance(0.15) else "default",
        "labels": draw.labels(POD_LABELS),
        "requests": requests(draw),
        "scheduler": scheduler,
    }
    return pod_manifest(f"p{number}-{draw.seed}", **(given | fields))  # type: ignore[arg-type] # the fields are those of pod_manifest


def _ample_size(draw: Draw) -> dict[str, str]:
    size = {"cpu": draw.pick(("8", "16", "12")), "memory": draw.pick(("16Gi", "32Gi", "24G")), "pods": "110"}
    return size | ({GPU: "8"} if draw.chance(0.3) else {})


def _tight_size(draw: Draw) -> dict[str, str]:
    size = {
        "cpu": draw.pick(("2", "4", "8", "3900m", "1")),
        "memory": draw.pick(("4Gi", "8Gi", "16Gi", "7931Mi", "3G")),
        "pods": "110" if draw.chance(0.88) else str(draw.number(0, 3)),
    }
    if draw.chance(0.5):
        size["ephemeral-storage"] = draw.pick(("10Gi", "100G", "0"))
    if draw.chance(0.35):
        size[GPU] = draw.pick(("0", "1", "2", "4", "8"))
    return size


def _node(
    draw: Draw, name: str, size: dict[str, str], labelled: float, taints: float, unschedulable: float
) -> Manifest:
    made = node_manifest(
        name,
        allocatable=size,
        labels=draw.labels(NODE_LABELS, labelled),
        taints=taint_list(draw, taints),
        unschedulable=draw.chance(unschedulable),
        fake=False,
    )
    if draw.chance(0.06):
        del made["metadata"]["labels"][HOSTNAME]
    return made
