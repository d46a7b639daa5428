"""The interface of a plugin that forms gangs."""

from collections.abc import Sequence

from pilotage.framework.api.plugin import FollowsPods
from pilotage.framework.api.remedies import Remedy
from pilotage.framework.api.verdicts import Rejection
from pilotage.model.gangs import GangName
from pilotage.model.pod import Pod


class FormsGangs(FollowsPods):
    """Defines which pods form a gang; the scheduler places all of them in one decision, or none."""

    def missing(self, gang: GangName, pod: Pod) -> int | None:
        """Return how many more pods of a gang must be placed at once; None if they are independent."""
        raise NotImplementedError

    def objection(self, gang: GangName, pod: Pod, waiting: int, gated: int) -> Rejection | None:
        """Return why not to try a gang now, given its number of waiting pods, with this one, and of gated pods."""
        raise NotImplementedError

    def shortage(self, gang: GangName, pod: Pod) -> Rejection | None:
        """Return which resources the cluster as a whole lacks for a gang."""
        raise NotImplementedError

    def known_rejection(self, gang: GangName, waiting: Sequence[Pod]) -> str | None:
        """Return why a gang was just rejected, if that still holds; None if another attempt is worthwhile."""
        raise NotImplementedError

    def gang_rejected(self, gang: GangName, waiting: Sequence[Pod], why: str) -> bool:
        """Record that too few pods of a gang could be placed; True if the time of the retry is known."""
        raise NotImplementedError

    def with_fewer(self, gang: GangName, pod: Pod, fewer: int) -> Remedy | None:
        """Return the change that lets the gang start with fewer pods by this number; None if there is none."""
        return None

    def placed_together(self, gang: GangName) -> None:
        """Record that enough pods of a gang were placed."""
        raise NotImplementedError
