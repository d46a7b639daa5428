"""The user, and the state of the scheduler."""

from datetime import datetime
from typing import Literal

from pilotage.views.answers.parts import Common, Part, Reason


class May(Part, frozen=True):
    """What the user may do, besides reading pods."""

    nodes: bool = False
    profiles: bool = False
    toggle: bool = False  # patch profiles, with the user's own credentials
    what_if: bool = False


class Access(Common, frozen=True, tag="Access"):
    """The user, and what they may see."""

    user: str
    groups: list[str] = []
    namespaces: Literal["all"] | list[str] = []  # with pods that the user may list
    more_namespaces: bool = False  # too many to check each of them
    may: May = May()


class Replica(Part, frozen=True):
    """One process of this scheduler."""

    name: str
    leads: bool = False
    ready: bool = False
    node: str = ""


class ProfileBrief(Part, frozen=True):
    """A profile in brief."""

    name: str
    pending: int = 0
    bound_per_minute: int = 0
    ready: bool = True
    reason: str = ""


class QueueCounts(Part, frozen=True):
    """Pending pods by part of the queue."""

    active: int = 0
    backoff: int = 0
    unschedulable: int = 0
    gated: int = 0
    in_flight: int = 0
    permit: int = 0
    oldest: datetime | None = None  # since when the oldest one waits


class Series(Part, frozen=True):
    """Counts per interval, the oldest first."""

    seconds: int = 5  # of an interval
    bound: list[int] = []
    attempts: list[int] = []
    failed: list[int] = []


class Latency(Part, frozen=True):
    """Duration of the last attempts, in seconds."""

    p50: float = 0.0
    p99: float = 0.0


class NodeCounts(Part, frozen=True):
    """Numbers of nodes."""

    count: int = 0
    cordoned: int = 0
    empty: int = 0  # without a pod


class Use(Part, frozen=True):
    """How much of a resource exists, and how much pods request."""

    allocatable: int
    requested: int
    unit: str


class ReasonCount(Part, frozen=True):
    """A reason, and its number of pods."""

    reason: Reason
    pods: int


class Alarm(Part, frozen=True):
    """A problem, and what to do about it."""

    code: str
    text: str
    do: str


class Overview(Common, frozen=True, tag="Overview"):
    """The state of the scheduler."""

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
