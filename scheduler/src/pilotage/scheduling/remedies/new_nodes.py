"""One more node like an existing one: empty except for the pods that every such node gets."""

from collections.abc import Iterator

import msgspec
import numpy as np

from pilotage.framework.api.node_changes import with_facts
from pilotage.framework.api.nodes import Bools, NodeInfo, Nodes
from pilotage.framework.api.remedies import Difference, NodeName, Remedy
from pilotage.kinds.storage import CSINode
from pilotage.model.node import Node
from pilotage.model.pod import Pod
from pilotage.model.tolerations import LIFECYCLE
from pilotage.scheduling.remedies.trying import Tries

TYPE, ZONE, HOSTNAME = "node.kubernetes.io/instance-type", "topology.kubernetes.io/zone", "kubernetes.io/hostname"
MOST_KINDS = 16  # of nodes that are considered
MOST_TRIED = 3
SPREAD = np.uint64(0x9E3779B97F4A7C15)  # makes it very unlikely that two kinds have the same number
COST = 10.0  # of a new node, compared with a change of an existing one
NEW = "one-more-node-like-"  # no cloud gives its nodes such names


def new_nodes(tries: Tries) -> Iterator[Remedy]:
    """Offer a node of each kind that is large enough, the smallest first."""
    for info, csi in kinds_to_add(tries):
        yield one_more_like(info, csi)


def kinds_to_add(tries: Tries) -> list[tuple[NodeInfo, CSINode | None]]:
    """Return a node of each kind of which one more would be large enough, with its drivers."""
    asked = tries.asked()
    if asked.objections is None:
        return []
    found = kinds_for(asked.objections.nodes, asked.objections.open_if_empty(), tries.pod)
    return [(info, tries.cache.objects.get(CSINode, info.name)) for info in found]


def kinds_for(nodes: Nodes, open_to: Bools, pod: Pod) -> list[NodeInfo]:
    """Return a node of each kind among the marked ones that would be large enough if it were empty."""
    kinds = [info for info in _kinds(nodes, open_to) if room_on_new(info, pod)]
    kinds.sort(key=lambda info: (info.allocatable.get("cpu", 0), info.allocatable.get("memory", 0)))
    return kinds[:MOST_TRIED]


def one_more_like(info: NodeInfo, csi: CSINode | None = None, number: int = 1) -> Remedy:
    """Return what an administrator can do by adding nodes like an existing one."""
    kind = ", ".join(info.labels[key] for key in (TYPE, ZONE) if info.labels.get(key))
    several = "one more node" if number == 1 else "{count} more nodes"
    names = [f"{NEW}{info.name}-{each}" for each in range(number)]
    return Remedy(
        code="newNode",
        actor="admin",
        words=f"add {several} like {{node}}" + (" ({kind})" if kind else ""),
        values={"node": NodeName(info.name), "kind": kind, "count": number},
        size=COST * number,
        nodes=number,
        example=info.name,
        difference=Difference(
            nodes=tuple(_clone(info, name) for name in names),
            arriving=tuple(pod for name in names for pod in _everywhere(info, name)),
            objects=() if csi is None else tuple(_renamed(csi, name) for name in names),
        ),
    )


def _kinds(nodes: Nodes, which: Bools) -> list[NodeInfo]:
    """Return one node for each combination of type, zone, taints and size."""
    places = np.flatnonzero(which)
    if not len(places):
        return []
    key = np.zeros(len(places), np.uint64)
    for column in (
        nodes.label_ids(TYPE),
        nodes.label_ids(ZONE),
        nodes.taint_set_ids,
        nodes.allocatable("cpu"),
        nodes.allocatable("memory"),
    ):
        key = key * SPREAD + column[places].astype(
            np.uint64
        )  # one number for all of them: comparing rows takes ten times as long
    _, first = np.unique(key, return_index=True)
    return [nodes[int(places[each])] for each in sorted(first.tolist())[:MOST_KINDS]]


def room_on_new(info: NodeInfo, pod: Pod) -> int:
    """Return how many pods like this one an otherwise empty node of a kind can hold."""
    everywhere = _on_every(info)
    taken: dict[str, int] = {}
    for each in everywhere:
        for resource, amount in each.usage.items():
            taken[resource] = taken.get(resource, 0) + amount
    room = info.node.allowed_pods - len(everywhere)
    for resource, amount in pod.requests.items():
        if amount > 0:
            room = min(room, (info.allocatable.get(resource, 0) - taken.get(resource, 0)) // amount)
    return max(0, room)


def _on_every(info: NodeInfo) -> list[Pod]:
    owned = ((pod, pod.metadata.controller) for pod in info.pods.values())
    return [pod for pod, owner in owned if owner is not None and owner.kind == "DaemonSet" and not pod.is_terminating]


def _clone(info: NodeInfo, name: str) -> Node:
    labels = {**info.labels, **({HOSTNAME: name} if HOSTNAME in info.labels else {})}
    taints = tuple(taint for taint in info.taints if not taint.key.startswith(LIFECYCLE))
    clone = with_facts(info.node, name=name, uid=name, labels=labels, taints=taints, unschedulable=False, images=())
    clone.metadata = msgspec.structs.replace(clone.metadata, name=name, uid=name)
    return clone


def _everywhere(info: NodeInfo, name: str) -> list[Pod]:
    return [_another(pod, name) for pod in _on_every(info)]


def _another(pod: Pod, node: str) -> Pod:
    clone = pod.on(node)
    clone.uid = f"{pod.uid}/{node}"
    clone.name = f"{pod.name}-{node}"
    return clone


def _renamed(csi: CSINode, name: str) -> CSINode:
    return msgspec.structs.replace(csi, metadata=msgspec.structs.replace(csi.metadata, name=name))
