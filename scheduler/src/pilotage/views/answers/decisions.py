"""Decisions."""

from datetime import datetime

from msgspec import field

from pilotage.views.answers.parts import Common, Part


class DecisionShown(Part, frozen=True):
    """The outcome of one attempt."""

    at: datetime
    n: int  # its number in the log
    pod: str  # namespace/name
    uid: str = ""
    attempt: int = 0
    outcome: str = ""  # placed, waits, nominated or error
    node: str = ""
    feasible: int = 0
    nodes: int = 0
    ties: int = 0
    micros: int = 0
    profile: str = ""
    hash: str = ""
    because: str = ""


class Decisions(Common, frozen=True, tag="Decisions"):
    """The last decisions, the newest first."""

    items: list[DecisionShown] = []
    continue_: str = field(name="continue", default="")
