"""Stays: when pods of one lineage ran on which nodes, for plugins that depend on it but started later."""

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
    left: float | None = None  # None while it is there


class RemembersStays(FollowsPods):
    """Decides by where previous pods ran; a process without the scheduler's memory can supply that."""

    def recall(self, pod: Pod, stays: Sequence[Stay]) -> None:
        """Replace the recorded stays of a pod's lineage."""
        raise NotImplementedError
