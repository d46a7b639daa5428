"""What a stream of events tells."""

from typing import Literal

from pilotage.views.answers.decisions import DecisionShown
from pilotage.views.answers.parts import Part
from pilotage.views.answers.waiting import QueueItem


class Hello(Part, frozen=True):
    """The first event of a stream."""

    revision: int
    topics: list[str]


class QueueChange(Part, frozen=True):
    """A pod that began to wait, waits otherwise, or waits no more."""

    what: Literal["waits", "left"]
    namespace: str
    name: str
    item: QueueItem | None = None


class Batch(Part, frozen=True):
    """What has changed in half a second, for one topic."""

    revision: int
    queue: list[QueueChange] = []
    decisions: list[DecisionShown] = []
    nodes: list[str] = []  # whose figures are others now
    profiles: list[str] = []


class Resync(Part, frozen=True):
    """Too much has changed to tell: ask for the page again."""

    revision: int
    topics: list[str]
