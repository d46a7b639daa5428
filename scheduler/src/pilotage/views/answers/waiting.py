"""Pending pods, and one pod."""

from datetime import datetime
from typing import Literal

from msgspec import field

from pilotage.views.answers.parts import Common, Part, Place, Position, Reason, ReasonGroup


class QueueItem(Part, frozen=True):
    """A pending pod."""

    namespace: str
    name: str
    uid: str
    profile: str
    place: Place
    since: datetime  # when it was first ready, or came
    attempts: int = 0
    priority: int = 0
    next_try: datetime | None = None  # None: on the next event that could help
    woken_by: str = ""  # the event that moved it there
    position: Position | None = None
    gang: str = ""
    owner: str = ""  # Kind/name
    reason: Reason | None = None  # None before its first attempt
    plugins: list[str] = []  # that rejected it
    nominated_node: str = ""
    requests: dict[str, int] = {}


class QueueGroup(Part, frozen=True):
    """Pending pods with something in common."""

    key: str
    pods: int
    oldest: datetime
    example: str  # namespace/name
    reason: Reason | None = None


class Queue(Common, frozen=True, tag="Queue"):
    """Pending pods: groups with `groupBy`, otherwise items."""

    total: int = 0  # all pods that match
    groups: list[QueueGroup] = []
    items: list[QueueItem] = []
    continue_: str = field(name="continue", default="")


class AttemptShown(Part, frozen=True):
    """One attempt to place a pod."""

    at: datetime
    n: int
    outcome: str  # placed, waits, nominated or error
    message: str = ""
    groups: list[ReasonGroup] = []
    node: str = ""  # where it was placed, or the node that was nominated
    feasible: int = 0
    nodes: int = 0  # evaluated
    ties: int = 0  # nodes with the highest score
    micros: int = 0  # duration
    hash: str = ""  # of the configuration
    because: str = ""


class Estimate(Part, frozen=True):
    """How much longer other pods waited, in seconds."""

    p50: float
    p90: float
    basis: int  # number of these pods


class PodView(Common, frozen=True, tag="Pod"):
    """What the scheduler knows about one pod."""

    namespace: str
    name: str
    uid: str
    profile: str
    state: Literal["waiting", "inFlight", "assumed", "bound"]
    place: Place | Literal[""] = ""
    node: str = ""
    priority: int = 0
    since: datetime | None = None
    next_try: datetime | None = None
    position: Position | None = None
    estimate: Estimate | None = None
    reason: Reason | None = None
    attempts: list[AttemptShown] = []  # the newest first, 20 at most
    gang: str = ""
    quota: str = ""
    owner: str = ""
    requests: dict[str, int] = {}
