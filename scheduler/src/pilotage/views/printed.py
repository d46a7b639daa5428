"""What commands print for programs (`-o json`, `-o yaml`), a type for each: docs/schemas is made of them.

Fields are added, never renamed or removed. A field without a default is always there.
"""

from typing import Any, Literal

from msgspec import Struct, field

from pilotage.offline.what_if.answer import Waiting, WhatIfAnswer
from pilotage.views.answers import Difference, Plugins, ReasonGroup
from pilotage.views.answers import Queue as QueueAnswer
from pilotage.views.answers import QueueGroup as GroupAnswer
from pilotage.views.answers import RemedyShown as Remedy


class Part(Struct, frozen=True, kw_only=True, rename="camel"):
    """A part of what is printed."""


class Printed(Part, frozen=True, kw_only=True, tag_field="kind", rename="camel"):
    """A whole answer, which says by its kind what it is."""


# -------------------------------------------------------------------------------------------------------- pods


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


# ------------------------------------------------------------------------------------------------ schedulers, nodes


class Replica(Part, frozen=True):
    """A pod of a scheduler."""

    name: str
    ready: bool
    leads: bool
    config_hash: str
    trouble: str


class Release(Part, frozen=True):
    """A release and its replicas."""

    namespace: str
    name: str
    leader: str | None
    replicas: list[Replica]


class ProfileHealth(Part, frozen=True):
    """A SchedulerProfile in one line."""

    name: str
    scheduler_name: str
    instance: str
    generation: int
    ready: bool
    reason: str
    replicas: str
    plugins: int
    config_hash: str
    last_good_generation: int | None
    waiting: int = 0  # these two only where the scheduler was asked
    bound_per_minute: int = 0


class Alarm(Part, frozen=True):
    """What is wrong, with what, and what to do."""

    about: str
    severity: Literal["fault", "warning"]
    text: str
    do: str


class Health(Printed, frozen=True):
    """Whether schedulers and their profiles are well."""

    well: bool
    releases: list[Release]
    profiles: list[ProfileHealth]
    alarms: list[Alarm]


class Amounts(Part, frozen=True):
    """What there is, what is asked for, and what is free and of no use."""

    allocatable: dict[str, int]
    requested: dict[str, int]
    stranded: dict[str, int]
    pods: int
    allowed: int


class TopNode(Amounts, frozen=True, kw_only=True):
    """How full a node is."""

    name: str
    zone: str
    type: str
    flags: list[str]


class TopNodes(Printed, frozen=True):
    """How full nodes are."""

    units: dict[str, str]
    total: Amounts
    items: list[TopNode]


class TopShape(Part, frozen=True):
    """Pods of a namespace that ask for the same, and how many more of them fit."""

    namespace: str
    example: str
    scheduler_name: str
    pods: int
    waiting: int
    requests: dict[str, int]
    constraints: list[str]
    copies: int | None  # null: the time was over
    stopped_by: str
    message: str
    by_node: dict[str, int]
    where: str


class TopShapes(Printed, frozen=True):
    """How many more of the most frequent pods fit."""

    source: Literal["live", "local", "file"]
    units: dict[str, str]
    items: list[TopShape]


# ------------------------------------------------------------------------------------------------ profiles, history


class ProfileDiff(Printed, frozen=True):
    """What a change of a profile amounts to."""

    name: str
    from_: str = field(name="from")
    to: str
    differences: list[Difference]


class HistoryItem(Part, frozen=True):
    """Something that happened."""

    at: str
    who: str
    what: str
    why: str
    count: int


class History(Printed, frozen=True):
    """What happened to a profile or a pod, the oldest first."""

    of: str
    items: list[HistoryItem]


class Finding(Part, frozen=True):
    """What was looked at, how it is, and what to do."""

    check: str
    state: Literal["ok", "warning", "fault"]
    text: str
    do: str


class Findings(Printed, frozen=True):
    """What is wrong with an installation, or with the rights of a user in it."""

    well: bool
    items: list[Finding]


class Complaint(Part, frozen=True):
    """Why a profile cannot run."""

    reason: str
    message: str


class Checked(Part, frozen=True):
    """Whether a profile can run."""

    name: str
    scheduler_name: str
    place: str
    accepted: bool
    complaints: list[Complaint]
    plugins: dict[str, list[str]]


class Argument(Part, frozen=True):
    """An argument of a plugin."""

    name: str
    type: str
    required: bool
    description: str
    default: Any = None


class Event(Part, frozen=True):
    """A change after which pods that the plugin rejected are tried again."""

    resource: str
    actions: list[str]
    hint: str | None


class Read(Part, frozen=True):
    """A kind of object that a plugin reads."""

    group: str
    kind: str


class Permission(Part, frozen=True):
    """What a plugin must be allowed to do."""

    group: str
    resource: str
    verbs: list[str]


class Plugin(Part, frozen=True):
    """Everything about a plugin."""

    name: str
    description: str
    origin: str
    extension_points: list[str]
    depends_on: str
    arguments: list[Argument]
    events: list[Event]
    reads: list[Read]
    permissions: list[Permission]


# -------------------------------------------------------------------------------------------------------- what-if


class WaitingShown(Waiting, frozen=True, rename="camel"):
    """Pods of an owner that find no place, with what would place them."""

    remedies: list[Remedy] = []


class WhatIfShown(WhatIfAnswer, frozen=True, kw_only=True, rename="camel"):
    """What would happen."""

    kind: Literal["WhatIfAnswer"] = "WhatIfAnswer"
    waiting: list[WaitingShown] = []


class QueueGroup(GroupAnswer, frozen=True):
    """Waiting pods that have something in common, and what would place one of them."""

    remedy: Remedy | None = None


class Queue(QueueAnswer, frozen=True, tag="Queue"):
    """The waiting pods, or groups of them."""

    groups: list[QueueGroup] = []  # type: ignore[assignment]


# Commands, and flags or arguments where they print something else.
PRINTED: dict[str, Any] = {
    "capacity": WhatIfShown,
    "check": list[Checked],
    "diff": ProfileDiff,
    "doctor": Findings,
    "drain-sim": WhatIfShown,
    "explain": Explanation | Explanations,
    "history": History,
    "plugins": list[Plugin] | Plugin,
    "queue": Queue,
    "simulate": list[Simulated] | SimulatedExplanation,
    "status": Health,
    "top-nodes": TopNodes,
    "top-plugins": Plugins,
    "top-shapes": TopShapes,
    "what-if": WhatIfShown,
}
