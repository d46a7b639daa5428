"""What profiles amount to, what happened to them, and what their plugins are."""

from typing import Any, Literal

from msgspec import field

from pilotage.views.answers import Difference
from pilotage.views.printed.parts import Part, Printed


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
