"""Server-sent events."""

from typing import Literal

from pilotage.views.answers.decisions import DecisionShown
from pilotage.views.answers.parts import Part
from pilotage.views.answers.waiting import QueueItem


class Hello(Part, frozen=True):
    """The first event of a stream."""

    revision: int
    topics: list[str]


class QueueChange(Part, frozen=True):
    """A pod that became pending, changed, or is no longer pending."""

    what: Literal["waits", "left"]
    namespace: str
    name: str
    item: QueueItem | None = None


class Batch(Part, frozen=True):
    """The changes of half a second, for one topic."""

    revision: int
    queue: list[QueueChange] = []
    decisions: list[DecisionShown] = []
    nodes: list[str] = []  # whose figures changed
    profiles: list[str] = []


class Resync(Part, frozen=True):
    """Too many changes: reload the page."""

    revision: int
    topics: list[str]
