"""When pods of one lineage were on nodes, for plugins that remember it and were not there to see."""

from collections.abc import Sequence
from dataclasses import dataclass

from pilotage.framework.api.plugin import FollowsPods
from pilotage.model.pod import Pod


@dataclass(frozen=True, slots=True)
class Stay:
    """One pod on one node."""

    pod: str  # its uid
    node: str
    came: float
    left: float | None = None  # None as long as it is there


class RemembersStays(FollowsPods):
    """Decides by where pods were that are gone; whoever has seen less than the scheduler can tell it."""

    def recall(self, pod: Pod, stays: Sequence[Stay]) -> None:
        """Take the stays of a pod's lineage in place of what was seen of it."""
        raise NotImplementedError
