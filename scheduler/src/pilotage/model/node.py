"""Nodes, with the fields that scheduling reads."""

from msgspec import Struct, field

from pilotage.model.limits import MOST_TAINTS
from pilotage.model.metadata import Metadata
from pilotage.model.pod_spec import Amounts
from pilotage.model.requests import Requests, counted
from pilotage.model.tolerations import NO_SCHEDULE, Taint


class NodeSpec(Struct, frozen=True, gc=False, rename="camel"):
    """The spec of a node."""

    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False


class NodeImage(Struct, frozen=True, gc=False, rename="camel"):
    """An image of a node, with all of its names."""

    names: tuple[str, ...] = ()
    size_bytes: int = 0


class NodeCondition(Struct, frozen=True, gc=False, rename="camel"):
    """A condition of a node."""

    type: str = ""
    status: str = ""


class NodeAddress(Struct, frozen=True, gc=False, rename="camel"):
    """An address of a node."""

    address: str = ""


class NodeStatus(Struct, frozen=True, gc=False, rename="camel"):
    """The status of a node."""

    allocatable: Amounts = {}
    capacity: Amounts = {}
    images: tuple[NodeImage, ...] = ()
    conditions: tuple[NodeCondition, ...] = ()
    addresses: tuple[NodeAddress, ...] = ()
    declared_features: tuple[str, ...] = ()


class NodeObject(Struct, gc=False, rename="camel"):
    """A node of the API, without fields that scheduling does not use."""

    metadata: Metadata
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = field(default_factory=NodeStatus)


TOO_MANY_TAINTS = "pilotage.dev/too-many-taints"

FACTS = (
    "labels",
    "annotations",
    "taints",
    "unschedulable",
    "allocatable",
    "capacity",
    "allowed_pods",
    "declared_features",
)


class Node:
    """A node: its labels, its taints, and its allocatable resources."""

    __slots__ = (
        "addresses",
        "allocatable",
        "allowed_pods",
        "annotations",
        "capacity",
        "conditions",
        "declared_features",
        "images",
        "labels",
        "metadata",
        "name",
        "taints",
        "uid",
        "unschedulable",
    )

    def __init__(self, given: NodeObject) -> None:
        self.metadata = given.metadata
        self.name = given.metadata.name
        self.uid = given.metadata.uid
        self.labels = given.metadata.labels
        self.annotations = given.metadata.annotations
        self.taints = _looked_at(given.spec.taints)
        self.unschedulable = given.spec.unschedulable
        amounts: Requests = counted(given.status.allocatable)
        self.allowed_pods = amounts.pop("pods", 0)
        self.allocatable = amounts  # cpu in thousandths, everything else in units
        self.capacity = given.status.capacity  # as written: few plugins use it
        self.images = given.status.images
        self.conditions = given.status.conditions
        self.addresses = tuple(each.address for each in given.status.addresses)
        self.declared_features = frozenset(given.status.declared_features)

    def __repr__(self) -> str:
        return f"Node({self.name})"

    def has_same_facts(self, other: "Node") -> bool:
        """Return whether no field that plugins read differs, apart from images."""
        return all(getattr(self, fact) == getattr(other, fact) for fact in FACTS)


def _looked_at(taints: tuple[Taint, ...]) -> tuple[Taint, ...]:
    """Return the taints, or a single one in place of too many, which only pods that tolerate everything tolerate."""
    return taints if len(taints) <= MOST_TAINTS else (Taint(TOO_MANY_TAINTS, str(len(taints)), NO_SCHEDULE),)
