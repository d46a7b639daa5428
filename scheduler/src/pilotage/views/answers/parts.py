"""Parts of answers."""

from datetime import datetime
from typing import Any, Literal

from msgspec import Struct, field

PREFIX = "/pilotage/v1"

Tier = Literal["owner", "admin", "wait", "scheduler"]
Place = Literal["active", "backoff", "unschedulable", "gated", "inFlight", "permit"]


class Part(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A part of an answer."""


class Common(Part, frozen=True, kw_only=True, tag_field="kind", omit_defaults=True, rename="camel"):
    """What every answer has: when it was true, and which state it shows."""

    at: datetime
    revision: int  # grows with every visible change
    source: str  # live, local or recording


class Reason(Part, frozen=True):
    """Why a pod is pending: a text, a code for programs, and who can help."""

    text: str
    code: str
    tier: Tier
    condition: str = ""  # of one pod: the reason in its condition, such as Unschedulable


class ReasonGroup(Part, frozen=True):
    """Nodes that one plugin rejected for the same reasons."""

    plugin: str
    reasons: list[str]
    code: str
    nodes: int  # how many
    preemption_helps: bool = False
    example: str = ""  # a node, for those who may list nodes


class Change(Part, frozen=True):
    """One field to change."""

    path: str
    from_: Any = field(name="from", default=None)
    to: Any = None
    unit: str = ""


class RemedyShown(Part, frozen=True):
    """A change that would place the pod, as `pilotage.framework.api.remedies` describes it."""

    code: str
    actor: Literal["owner", "admin", "wait"]
    text: str
    verified: bool = False  # the scheduler's own decision places the pod then
    untried: str = ""  # why that cannot be tried
    nodes: int = 0  # how many it opens
    example: str = ""
    size: float = 0.0
    plugin: str = ""  # that offers it
    values: dict[str, Any] = {}  # the parameters of the text, for translations
    changes: list[Change] = []
    target: dict[str, str] | None = None  # the object that the patch is for
    patch: dict[str, Any] | None = None
    steps: list["RemedyShown"] = []  # both changes, if it takes two


class Position(Part, frozen=True):
    """The position of a pod in the queue."""

    ahead: int
    total: int
