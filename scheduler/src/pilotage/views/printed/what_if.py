"""What would happen, and what waits meanwhile."""

from typing import Literal

from pilotage.offline.what_if.answer import Waiting, WhatIfAnswer
from pilotage.views.answers import Queue as QueueAnswer
from pilotage.views.answers import QueueGroup as GroupAnswer
from pilotage.views.answers import RemedyShown as Remedy


class WaitingShown(Waiting, frozen=True, rename="camel"):
    """Pods of an owner that find no place, with what would place them."""

    remedies: list[Remedy] = []


class WhatIfShown(WhatIfAnswer, frozen=True, kw_only=True, rename="camel"):
    """What would happen."""

    kind: Literal["WhatIfAnswer"] = "WhatIfAnswer"
    waiting: list[WaitingShown] = []


class QueueGroup(GroupAnswer, frozen=True):
    """Waiting pods that have something in common, and what would place one of them."""

    remedy: Remedy | None = None


class Queue(QueueAnswer, frozen=True, tag="Queue"):
    """The waiting pods, or groups of them."""

    groups: list[QueueGroup] = []  # type: ignore[assignment]
