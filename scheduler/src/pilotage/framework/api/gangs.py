"""What the scheduler asks a plugin that knows gangs."""

from collections.abc import Sequence

from pilotage.framework.api.plugin import FollowsPods
from pilotage.framework.api.remedies import Remedy
from pilotage.framework.api.verdicts import Rejection
from pilotage.model.gangs import GangName
from pilotage.model.pod import Pod


class FormsGangs(FollowsPods):
    """Says which pods start together; the scheduler then places all of them in one decision, or none."""

    def missing(self, gang: GangName, pod: Pod) -> int | None:
        """Return how many more pods of a gang must find a place at once; None if each is for itself."""
        raise NotImplementedError

    def objection(self, gang: GangName, pod: Pod, waiting: int, gated: int) -> Rejection | None:
        """Return why a gang is not to be tried now, of which so many pods wait, this one included, and others gated."""
        raise NotImplementedError

    def shortage(self, gang: GangName, pod: Pod) -> Rejection | None:
        """Return what the whole cluster lacks for a gang."""
        raise NotImplementedError

    def no_chance(self, gang: GangName, waiting: Sequence[Pod]) -> str | None:
        """Return why a gang was turned down a moment ago if that still holds; None if it is worth a try."""
        raise NotImplementedError

    def turned_down(self, gang: GangName, waiting: Sequence[Pod], why: str) -> bool:
        """Take note that not enough pods of a gang found a place; True if it is known when to try again."""
        raise NotImplementedError

    def with_fewer(self, gang: GangName, pod: Pod, fewer: int) -> Remedy | None:
        """Return how the gang would need so many places less at once; None if that cannot be said."""
        return None

    def placed_together(self, gang: GangName) -> None:
        """Take note that enough pods of a gang have found a place."""
        raise NotImplementedError
