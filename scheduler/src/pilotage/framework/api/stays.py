"""When pods of one lineage were on nodes, for plugins that remember it but did not see it."""

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
    """Decides by where previous pods ran; a process that has seen less than the scheduler can supply it."""

    def recall(self, pod: Pod, stays: Sequence[Stay]) -> None:
        """Replace what was seen of a pod's lineage by these stays."""
        raise NotImplementedError
