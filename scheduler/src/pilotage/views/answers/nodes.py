"""Nodes as columns, as rows, and one by one."""

from msgspec import field

from pilotage.views.answers.decisions import DecisionShown
from pilotage.views.answers.parts import Common, Part

CORDONED, REPELS, NOMINATED, HELD = 1, 2, 4, 8  # bits of a node's flags


class NodeRow(Part, frozen=True):
    """One node as a row."""

    name: str
    zone: str = ""
    type: str = ""
    allocatable: dict[str, int] = {}
    requested: dict[str, int] = {}
    pods: int = 0
    allowed: int = 0
    flags: int = 0


class NodeTable(Common, frozen=True, tag="Nodes"):
    """All nodes: parallel arrays in one order, or a page of rows."""

    total: int = 0
    names: list[str] = []
    zones: list[str] = []  # the distinct ones, which `zone` indexes
    zone: list[int] = []
    types: list[str] = []
    type: list[int] = []
    allocatable: dict[str, list[int]] = {}
    requested: dict[str, list[int]] = {}
    units: dict[str, str] = {}
    pods: list[int] = []
    allowed: list[int] = []  # pods
    flags: list[int] = []  # sums of 1 cordoned, 2 repels by a taint, 4 nominated, 8 on hold for a while
    items: list[NodeRow] = []
    continue_: str = field(name="continue", default="")


class PodOnNode(Part, frozen=True):
    """A pod on a node, or nominated for it."""

    namespace: str
    name: str
    priority: int = 0
    profile: str = ""
    requests: dict[str, int] = {}
    assumed: bool = False


class OtherPods(Part, frozen=True):
    """The sum of the pods that the user may not see."""

    pods: int = 0
    requests: dict[str, int] = {}


class NodeView(Common, frozen=True, tag="Node"):
    """One node and its pods."""

    name: str
    zone: str = ""
    type: str = ""
    allocatable: dict[str, int] = {}
    requested: dict[str, int] = {}
    allowed: int = 0
    cordoned: bool = False
    taints: list[str] = []
    pods: list[PodOnNode] = []  # of visible namespaces, the highest priority first
    others: OtherPods = OtherPods()
    nominated: list[PodOnNode] = []
    decisions: list[DecisionShown] = []  # the last 20 that chose it
