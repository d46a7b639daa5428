"""Nodes that do not exist yet: like an existing one, or from a template."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import msgspec

from pilotage.framework.api.nodes import NodeInfo
from pilotage.kinds.kube_object import KubeObject
from pilotage.kinds.storage import CSINode
from pilotage.model.metadata import Metadata
from pilotage.model.node import Node, NodeObject, NodeSpec, NodeStatus
from pilotage.model.pod import Pod, PodObject
from pilotage.model.quantity import NANOS_IN_MILLI, Form, InvalidQuantity, Quantity, parse
from pilotage.model.tolerations import Taint
from pilotage.offline.what_if.owners import is_of_its_node
from pilotage.offline.what_if.request import AddNodes, NodeTemplate, TaintEntry, WrongRequest

HOSTNAME = "kubernetes.io/hostname"
INSTANCE_TYPE = "node.kubernetes.io/instance-type"
OF_THE_MOMENT = "node.kubernetes.io/"  # taints that report a node's condition; a new node is healthy
USUAL_PODS = 110


@dataclass(frozen=True)
class NewNode:
    """A node with the pods that every such node runs, and other objects about it."""

    node: Node
    pods: tuple[Pod, ...] = ()
    objects: tuple[KubeObject, ...] = ()


@dataclass(frozen=True)
class Kin:
    """The model of a new node."""

    name: str
    node: NodeObject
    daemons: tuple[Pod, ...] = ()
    csi_node: CSINode | None = None
    assumptions: tuple[str, ...] = field(default=())


def like(info: NodeInfo, csi_node: CSINode | None) -> Kin:
    """Return the model of nodes like an existing one, on which only DaemonSet pods run."""
    node = info.node
    taints = tuple(taint for taint in node.taints if not taint.key.startswith(OF_THE_MOMENT))
    allocatable = {name: _amount(name, amount) for name, amount in node.allocatable.items()}
    status = NodeStatus(
        allocatable={**allocatable, "pods": node.allowed_pods},
        capacity=node.capacity,
        declared_features=tuple(node.declared_features),
    )
    metadata = Metadata(labels=node.labels, annotations=node.annotations)
    return Kin(node.name, NodeObject(metadata, NodeSpec(taints), status), _daemons(info), csi_node)


def by_template(template: NodeTemplate, nodes: Sequence[NodeInfo]) -> Kin:
    """Return the model of nodes from a template; what it leaves open is taken from nodes of the same kind."""
    kin, assumptions = _same_kind(template, nodes), []
    allocatable: dict[str, Any] = dict(template.allocatable)
    _refuse_wrong({**template.capacity, **allocatable})
    left = {name: amount for name, amount in template.capacity.items() if name not in allocatable}
    shares = {name: _share(name, kin) for name in left}
    allocatable |= {name: _part(amount, shares[name]) for name, amount in left.items()}
    if reduced := [name for name in left if shares[name] != 1]:
        assumptions.append(
            f"the allocatable {', '.join(reduced)} of new nodes is the part of the capacity that nodes "
            f"like {kin[0].name} have allocatable"
        )
    elif left:
        assumptions.append("all capacity of new nodes is allocatable")
    if "pods" not in allocatable:
        allocatable["pods"] = USUAL_PODS
        assumptions.append(f"new nodes take {USUAL_PODS} pods, a kubelet's default")
    status = NodeStatus(allocatable=allocatable, capacity=template.capacity or allocatable)
    spec = NodeSpec(tuple(map(taint_of, template.taints)))
    daemons = _daemons(kin[0]) if kin else ()
    return Kin("node", NodeObject(Metadata(labels=template.labels), spec, status), daemons, None, tuple(assumptions))


def made_after(kin: Kin, count: int, taken: Iterable[str]) -> Iterator[NewNode]:
    """Yield so many new nodes, with names that are not in use."""
    known, number = set(taken), 0
    for _ in range(count):
        number += 1
        while (name := f"{kin.name}-new-{number}") in known:
            number += 1
        labels = {**kin.node.metadata.labels, HOSTNAME: name}
        metadata = Metadata(name=name, uid=name, labels=labels, annotations=kin.node.metadata.annotations)
        node = Node(NodeObject(metadata, kin.node.spec, kin.node.status))
        yield NewNode(node, tuple(_moved(pod, name) for pod in kin.daemons), _known_of(kin, name))


def taint_of(entry: TaintEntry) -> Taint:
    """Return a taint as nodes have it."""
    return Taint(entry.key, entry.value, entry.effect)


def title_of(asked: AddNodes) -> str:
    """Return the change as a title: +2 gpu-1."""
    return f"+{asked.count} {asked.like or 'new'}"


def _daemons(info: NodeInfo) -> tuple[Pod, ...]:
    return tuple(pod for pod in info.pods.values() if is_of_its_node(pod) and not pod.is_terminating)


def _moved(pod: Pod, node: str) -> Pod:
    name = f"{pod.name}-{node}"
    metadata = msgspec.structs.replace(pod.metadata, name=name, uid=f"{pod.uid}/{node}")
    return Pod(PodObject(metadata, pod.spec, pod.status)).on(node)


def _known_of(kin: Kin, name: str) -> tuple[KubeObject, ...]:
    if kin.csi_node is None:
        return ()
    metadata = msgspec.structs.replace(kin.csi_node.metadata, name=name, uid=name)
    return (msgspec.structs.replace(kin.csi_node, metadata=metadata),)


def _same_kind(template: NodeTemplate, nodes: Sequence[NodeInfo]) -> list[NodeInfo]:
    """Return the nodes of the same type, or else the one with the most similar capacity."""
    wanted = template.labels.get(INSTANCE_TYPE)
    same = [info for info in nodes if wanted and info.labels.get(INSTANCE_TYPE) == wanted]
    if same or not nodes:
        return same
    capacity = _nanos(template.capacity or template.allocatable)

    def distance(info: NodeInfo) -> float:
        there = _nanos(info.node.capacity)
        return sum(abs(1 - there.get(name, 0) / amount) for name, amount in capacity.items() if amount)

    return [min(nodes, key=distance)]


def _share(name: str, kin: Sequence[NodeInfo]) -> Fraction:
    """Return the smallest share of its capacity that any node of the kind has allocatable."""
    shares = []
    for info in kin:
        capacity = _nanos(info.node.capacity).get(name, 0)
        allocatable = info.node.allowed_pods if name == "pods" else info.allocatable.get(name, 0)
        if capacity > 0:
            shares.append(Fraction(allocatable * (NANOS_IN_MILLI if name == "cpu" else 10**9), capacity))
    return min([*shares, Fraction(1)])


def _part(amount: str | int | float, share: Fraction) -> str:
    if share == 1:
        return str(amount)
    whole = parse(amount)
    return str(Quantity(int(whole.nanos * share) // NANOS_IN_MILLI * NANOS_IN_MILLI, Form.DECIMAL))


def _amount(name: str, amount: int) -> str | int:
    return f"{amount}m" if name == "cpu" else amount


def _nanos(amounts: Mapping[str, str | int | float]) -> dict[str, int]:
    return {name: parse(amount).nanos for name, amount in amounts.items()}


def _refuse_wrong(amounts: Mapping[str, str | int | float]) -> None:
    for name, amount in amounts.items():
        try:
            parse(amount)
        except InvalidQuantity as error:
            raise WrongRequest(f"addNodes.template: {name}: {error}") from None
