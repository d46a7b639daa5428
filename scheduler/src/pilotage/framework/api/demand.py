"""Which pending pods may trigger new nodes, as far as a plugin limits that."""

from collections.abc import Sequence

from pilotage.framework.api.plugin import Plugin
from pilotage.model.pod import Pod


class LimitsDemand(Plugin):
    """Limits what is scheduled, whatever nodes there are; not an extension point, so profiles do not list it.

    Autoscalers look at one word in a pending pod's condition. Of the pods that fit no node, only as many may trigger
    one as would be scheduled once it exists.
    """

    def no_node_helps(self, pods: Sequence[Pod]) -> str:
        """Return why nodes for these pods together would stay empty; "" if not, and then they count as requesting."""
        raise NotImplementedError

    def withdraw_request(self, pod: Pod) -> bool:
        """Record that a pod no longer requests a node; True if it did."""
        raise NotImplementedError
