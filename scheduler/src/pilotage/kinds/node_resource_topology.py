"""The resources of each NUMA zone of a node, reported by an agent; the object has no spec."""

from msgspec import Struct

from pilotage.kinds.kube_object import KubeObject

Quantity = str | int | float


class TopologyAttribute(Struct, frozen=True, gc=False, rename="camel"):
    """A named attribute."""

    name: str = ""
    value: str = ""


class ZoneResource(Struct, frozen=True, gc=False, rename="camel"):
    """The amount of one resource in a zone."""

    name: str = ""
    capacity: Quantity = 0
    allocatable: Quantity = 0
    available: Quantity = 0


class ZoneCost(Struct, frozen=True, gc=False, rename="camel"):
    """The distance to another zone."""

    name: str = ""
    value: int = 0


class Zone(Struct, frozen=True, gc=False, rename="camel"):
    """A zone of a node."""

    name: str = ""
    type: str = ""
    parent: str = ""
    costs: tuple[ZoneCost, ...] = ()
    attributes: tuple[TopologyAttribute, ...] = ()
    resources: tuple[ZoneResource, ...] = ()


class NodeResourceTopology(
    KubeObject, group="topology.node.k8s.io", version="v1alpha2", plural="noderesourcetopologies", scope="Cluster"
):
    """The zones of the node of the same name."""

    topology_policies: tuple[str, ...] = ()
    zones: tuple[Zone, ...] = ()
    attributes: tuple[TopologyAttribute, ...] = ()
