"""Gangs and quotas."""

from datetime import datetime

from msgspec import field

from pilotage.views.answers.parts import Common, Part
from pilotage.views.answers.waiting import QueueItem


class BlockedBy(Part, frozen=True):
    """What blocks a gang."""

    code: str
    text: str
    pod: str = ""


class Room(Part, frozen=True):
    """How many pods of a gang fit at once in the last attempt."""

    at_once: int
    limiting: str = ""


class GangView(Part, frozen=True):
    """A gang and its progress."""

    namespace: str
    name: str
    quorum: int = 0
    placed: int = 0
    waiting: int = 0
    gated: int = 0
    missing: int = 0  # pods that do not exist yet
    profile: str = ""
    blocked_by: BlockedBy | None = None
    room: Room | None = None
    since: datetime | None = None


class Gangs(Common, frozen=True, tag="Gangs"):
    """All gangs with a pending pod or a PodGroup."""

    total: int = 0
    items: list[GangView] = []
    continue_: str = field(name="continue", default="")


class Gang(Common, frozen=True, tag="Gang"):
    """One gang."""

    gang: GangView
    pods: list[QueueItem] = []  # pending


class QuotaWaiting(Part, frozen=True):
    """Pending pods of a quota."""

    pods: int = 0
    requests: dict[str, int] = {}


class QuotaView(Part, frozen=True):
    """A quota: guaranteed, used, and lent."""

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
