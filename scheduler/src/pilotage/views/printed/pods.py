"""How pods are: why they wait, or what became of them in a simulation."""

from typing import Literal

from pilotage.views.answers import ReasonGroup
from pilotage.views.answers import RemedyShown as Remedy
from pilotage.views.printed.parts import Part, Printed


class Score(Part, frozen=True):
    """What a plugin thinks of a node."""

    raw: int
    normalized: int
    weighted: int
    weight: int = 1


class Node(Part, frozen=True):
    """One node: why it does not do, or how good it is."""

    node: str
    fits: bool
    plugin: str
    reasons: list[str]
    details: list[str]
    spared: str
    scores: dict[str, Score]
    total: int
    preemption_helps: bool = False


class Before(Part, frozen=True):
    """What rejected a pod before any node was considered."""

    plugin: str
    reasons: list[str]


class Gang(Part, frozen=True):
    """What a pod's gang waits for."""

    source: str
    namespace: str
    name: str
    needed: int
    waiting: int
    gated: int
    fitting: int | None
    blocker: str


class WhyNot(Part, frozen=True):
    """A node compared with the one that a pod has or would get."""

    node: str
    text: str
    compared_with: str = ""
    behind: int = 0
    by_plugin: dict[str, int] = {}


class Attempt(Part, frozen=True):
    """One attempt of a scheduler to place a pod."""

    at: str
    n: int
    outcome: str
    message: str = ""
    groups: list[ReasonGroup] = []
    node: str = ""
    feasible: int = 0
    nodes: int = 0
    ties: int = 0
    micros: int = 0
    hash: str = ""
    because: str = ""


class AllocatedDevice(Part, frozen=True, kw_only=True):
    """A device that a claim of a pod has."""

    claim: str
    request: str
    driver: str
    pool: str
    device: str
    share: str | None  # the id of a share of it


class Simulated(Part, frozen=True, kw_only=True):
    """What became of a pod in a simulation."""

    namespace: str
    name: str
    scheduler_name: str
    node: str | None
    message: str
    reason: str
    nominated_node: str
    victims: list[str]
    scores: dict[str, Score]
    allocations: list[AllocatedDevice]


class SimulatedExplanation(Simulated, frozen=True, kw_only=True):
    """The same with the answer of every plugin for every node."""

    before: Before | None
    gang: Gang | None
    nodes: list[Node]
    remedies: list[Remedy]
    remedies_note: str


class Explanation(SimulatedExplanation, frozen=True, kw_only=True, tag_field="kind"):
    """Why a pod waits, or why it is on its node."""

    source: Literal["local", "file", "live", "status"]
    current_node: str
    status_message: str
    why_not: WhyNot | None = None
    fits: int = 0  # of these four only what a scheduler or a status says
    nodes_total: int = 0
    groups: list[ReasonGroup] = []
    attempts: list[Attempt] = []
    pods: int = 1  # how many pods of an owner wait like this one


class Explanations(Printed, frozen=True):
    """The waiting pods of an owner, one of each sort."""

    of: str
    pods: int
    waiting: int
    items: list[Explanation]
