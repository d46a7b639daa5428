"""A changed node, with the patch that changes it; or a node without some of its pods."""

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from typing import Any

import msgspec

from pilotage.framework.api.nodes import NodeInfo
from pilotage.framework.api.remedies import Change, Difference, NodeName, PodNames, Remedy, Target, Value
from pilotage.model.node import Node
from pilotage.model.pod import Pod

CRITICAL = 1_000_000_000  # priorities above it belong to the system
BOUND_TO_THEIR_NODE = ("DaemonSet", "Node")


def with_facts(node: Node, **facts: Any) -> Node:
    """Return a node with other facts."""
    changed = copy(node)
    for name, value in facts.items():
        setattr(changed, name, value)
    if "labels" in facts:
        changed.metadata = msgspec.structs.replace(node.metadata, labels=dict(facts["labels"]))
    return changed


def node_remedy(
    code: str,
    words: str,
    node: Node,
    changed: Node,
    patch: Mapping[str, Any],
    *changes: Change,
    size: float = 0.5,
    **values: Value,
) -> Remedy:
    """Return a change of a node by an administrator; the node's name is the value `node`."""
    return Remedy(
        code=code,
        actor="admin",
        words=words,
        values={"node": NodeName(node.name), **values},
        changes=changes,
        size=size,
        target=Target("Node", node.name, patch_type="merge"),
        patch=patch,
        difference=Difference(nodes=(changed,)),
    )


def freed(node: NodeInfo, pods: Sequence[Pod], size: float = 1.0) -> Remedy:
    """Return the remedy that pods leave a node."""
    one = len(pods) == 1
    return Remedy(
        code="freePods",
        actor="admin",
        words="move {pods} off {node}" if one else "move {count} pods off {node} ({pods})",
        values={
            "node": NodeName(node.name),
            "pods": PodNames(pod.key for pod in pods),
            "count": len(pods),
            "priority": max((pod.priority for pod in pods), default=0),
        },
        size=size + len(pods),
        difference=Difference(leaving=tuple(pods)),
    )


def movable(node: NodeInfo) -> list[Pod]:
    """Return the pods that may be moved off a node, the least important first."""
    found = (pod for pod in node.pods.values() if _may_leave(pod))
    return sorted(found, key=lambda pod: (pod.priority, pod.key))


def _may_leave(pod: Pod) -> bool:
    owner = pod.metadata.controller
    bound = owner is not None and owner.kind in BOUND_TO_THEIR_NODE
    return not bound and not pod.is_terminating and pod.priority <= CRITICAL


def enough_of(pods: Iterable[Pod], needed: Mapping[str, int], of: Any) -> list[Pod]:
    """Return the fewest pods that free what is needed, the less important first; [] if all together do not."""
    left, taken = dict(needed), []
    by_priority: dict[int, list[Pod]] = {}
    for pod in pods:
        by_priority.setdefault(pod.priority, []).append(pod)
    for priority in sorted(by_priority):
        for pod in sorted(by_priority[priority], key=lambda each: -_worth(of(each), left)):
            if not any(amount > 0 for amount in left.values()):
                break
            if _worth(of(pod), left) > 0:
                taken.append(pod)
                left = {name: amount - of(pod).get(name, 0) for name, amount in left.items()}
    if any(amount > 0 for amount in left.values()):
        return []
    return _without_idle(taken, left, of)


def _worth(amounts: Mapping[str, int], left: Mapping[str, int]) -> float:
    return sum(min(1.0, amounts.get(name, 0) / amount) for name, amount in left.items() if amount > 0)


def _without_idle(taken: list[Pod], left: dict[str, int], of: Any) -> list[Pod]:
    """Leave out pods that need not leave after all, the most important first."""
    for pod in reversed(list(taken)):
        if all(amount + of(pod).get(name, 0) <= 0 for name, amount in left.items()):
            taken.remove(pod)
            left = {name: amount + of(pod).get(name, 0) for name, amount in left.items()}
    return taken
