"""What the scheduler needs from a plugin that knows gangs."""

from collections.abc import Sequence

from pilotage.framework.api.plugin import FollowsPods
from pilotage.framework.api.remedies import Remedy
from pilotage.framework.api.verdicts import Rejection
from pilotage.model.gangs import GangName
from pilotage.model.pod import Pod


class FormsGangs(FollowsPods):
    """Says which pods start together; the scheduler then places all of them in one decision, or none."""

    def missing(self, gang: GangName, pod: Pod) -> int | None:
        """Return how many more pods of a gang must be placed at once; None if they are independent."""
        raise NotImplementedError

    def objection(self, gang: GangName, pod: Pod, waiting: int, gated: int) -> Rejection | None:
        """Return why not to try a gang now, given how many of its pods wait, this one included, and are gated."""
        raise NotImplementedError

    def shortage(self, gang: GangName, pod: Pod) -> Rejection | None:
        """Return what the whole cluster lacks for a gang."""
        raise NotImplementedError

    def no_chance(self, gang: GangName, waiting: Sequence[Pod]) -> str | None:
        """Return why a gang was rejected a moment ago if that still holds; None if it is worth an attempt."""
        raise NotImplementedError

    def turned_down(self, gang: GangName, waiting: Sequence[Pod], why: str) -> bool:
        """Record that not enough pods of a gang could be placed; True if it is known when to retry."""
        raise NotImplementedError

    def with_fewer(self, gang: GangName, pod: Pod, fewer: int) -> Remedy | None:
        """Return how the gang would need so many places less at once; None if that cannot be said."""
        return None

    def placed_together(self, gang: GangName) -> None:
        """Record that enough pods of a gang were placed."""
        raise NotImplementedError
