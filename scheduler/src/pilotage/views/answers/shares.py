"""Gangs and quotas."""

from datetime import datetime

from msgspec import field

from pilotage.views.answers.parts import Common, Part
from pilotage.views.answers.waiting import QueueItem


class BlockedBy(Part, frozen=True):
    """What keeps a gang from starting."""

    code: str
    text: str
    pod: str = ""


class Room(Part, frozen=True):
    """How many pods of a gang found a place at once in the last try."""

    at_once: int
    limiting: str = ""


class GangView(Part, frozen=True):
    """A gang and how far it is."""

    namespace: str
    name: str
    quorum: int = 0
    placed: int = 0
    waiting: int = 0
    gated: int = 0
    missing: int = 0  # pods that nobody has created
    profile: str = ""
    blocked_by: BlockedBy | None = None
    room: Room | None = None
    since: datetime | None = None


class Gangs(Common, frozen=True, tag="Gangs"):
    """All gangs that have a pod that waits, or that a PodGroup describes."""

    total: int = 0
    items: list[GangView] = []
    continue_: str = field(name="continue", default="")


class Gang(Common, frozen=True, tag="Gang"):
    """One gang."""

    gang: GangView
    pods: list[QueueItem] = []  # that wait


class QuotaWaiting(Part, frozen=True):
    """What waits in a quota."""

    pods: int = 0
    requests: dict[str, int] = {}


class QuotaView(Part, frozen=True):
    """A quota: what is promised, used, and lent."""

    namespace: str
    name: str
    covers: list[str] = []  # namespaces
    min: dict[str, int] = {}
    max: dict[str, int] = {}
    used: dict[str, int] = {}
    borrowed: dict[str, int] = {}  # used beyond its min
    lent: dict[str, int] = {}  # of its min, used by others
    waiting: QuotaWaiting = QuotaWaiting()


class Quotas(Common, frozen=True, tag="Quotas"):
    """All quotas."""

    items: list[QuotaView] = []
