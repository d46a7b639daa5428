"""What each NUMA zone of a node has, as an agent on the node reports it; the fields stand at the top of the object."""

from msgspec import Struct

from pilotage.model.metadata import Metadata

Quantity = str | int | float


class TopologyAttribute(Struct, frozen=True, gc=False, rename="camel"):
    """A fact with a name."""

    name: str = ""
    value: str = ""


class ZoneResource(Struct, frozen=True, gc=False, rename="camel"):
    """How much of one resource a zone has."""

    name: str = ""
    capacity: Quantity = 0
    allocatable: Quantity = 0
    available: Quantity = 0


class ZoneCost(Struct, frozen=True, gc=False, rename="camel"):
    """How far it is to another zone."""

    name: str = ""
    value: int = 0


class Zone(Struct, frozen=True, gc=False, rename="camel"):
    """A part of a node."""

    name: str = ""
    type: str = ""
    parent: str = ""
    costs: tuple[ZoneCost, ...] = ()
    attributes: tuple[TopologyAttribute, ...] = ()
    resources: tuple[ZoneResource, ...] = ()


class NodeResourceTopology(Struct, gc=False, rename="camel"):
    """The zones of the node of the same name."""

    metadata: Metadata
    topology_policies: tuple[str, ...] = ()
    zones: tuple[Zone, ...] = ()
    attributes: tuple[TopologyAttribute, ...] = ()
