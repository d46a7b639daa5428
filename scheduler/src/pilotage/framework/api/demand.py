"""What waiting pods may ask new nodes for, as far as a plugin has a say in it."""

from collections.abc import Sequence

from pilotage.framework.api.plugin import Plugin
from pilotage.model.pod import Pod


class LimitsDemand(Plugin):
    """Lets in only so much, whatever nodes there are; no extension point, and no profile names it.

    Whoever adds nodes looks at one word of a waiting pod. Of the pods that no node takes, only as many may call for
    one as would be let in once it is there.
    """

    def no_node_helps(self, pods: Sequence[Pod]) -> str:
        """Return why nodes for these pods, all at once, would stay empty; "" if not, and then they count as asking."""
        raise NotImplementedError

    def asks_no_more(self, pod: Pod) -> bool:
        """Record that a pod does not ask for a node any more; True if it did."""
        raise NotImplementedError
