"""Who asks, and how the scheduler is."""

from datetime import datetime
from typing import Literal

from pilotage.views.answers.parts import Common, Part, Reason


class May(Part, frozen=True):
    """What a user may do, beside reading the namespaces."""

    nodes: bool = False
    profiles: bool = False
    toggle: bool = False  # patch profiles, with the user's own credentials
    what_if: bool = False


class Access(Common, frozen=True, tag="Access"):
    """Who asks, and what they may see."""

    user: str
    groups: list[str] = []
    namespaces: Literal["all"] | list[str] = []  # whose pods may be listed, of those that have any
    more_namespaces: bool = False  # there are too many to ask about each: name one
    may: May = May()


class Replica(Part, frozen=True):
    """One process of this scheduler."""

    name: str
    leads: bool = False
    ready: bool = False
    node: str = ""


class ProfileBrief(Part, frozen=True):
    """A profile in one line."""

    name: str
    pending: int = 0
    bound_per_minute: int = 0
    ready: bool = True
    reason: str = ""


class QueueCounts(Part, frozen=True):
    """How many pods wait, by place."""

    active: int = 0
    backoff: int = 0
    unschedulable: int = 0
    gated: int = 0
    in_flight: int = 0
    permit: int = 0
    oldest: datetime | None = None  # since when the longest waiting one does


class Series(Part, frozen=True):
    """What happened in each of the last intervals, the oldest first."""

    seconds: int = 5  # of an interval
    bound: list[int] = []
    attempts: list[int] = []
    failed: list[int] = []


class Latency(Part, frozen=True):
    """How long the last attempts took, in seconds."""

    p50: float = 0.0
    p99: float = 0.0


class NodeCounts(Part, frozen=True):
    """How many nodes there are."""

    count: int = 0
    cordoned: int = 0
    empty: int = 0  # without a pod


class Use(Part, frozen=True):
    """How much of a resource there is, and how much pods have asked for."""

    allocatable: int
    requested: int
    unit: str


class ReasonCount(Part, frozen=True):
    """A reason, and how many pods wait for it."""

    reason: Reason
    pods: int


class Alarm(Part, frozen=True):
    """What is wrong, and what to do."""

    code: str
    text: str
    do: str


class Overview(Common, frozen=True, tag="Overview"):
    """Whether all is well, and what hurts most."""

    leader: str = ""
    version: str = ""
    replicas: list[Replica] = []
    profiles: list[ProfileBrief] = []
    queue: QueueCounts = QueueCounts()
    series: Series = Series()
    latency: Latency = Latency()
    nodes: NodeCounts = NodeCounts()
    use: dict[str, Use] = {}
    reasons: list[ReasonCount] = []
    alarms: list[Alarm] = []
