"""Limits which pending pods may trigger new nodes."""

from collections.abc import Sequence

from pilotage.framework.api.plugin import Plugin
from pilotage.model.pod import Pod


class LimitsDemand(Plugin):
    """Limits what is scheduled regardless of nodes; not an extension point, so profiles do not list it.

    Autoscalers look at the reason in a pending pod's condition. Of the pods that fit no node, only those may trigger a
    new one that would be scheduled once it exists.
    """

    def no_node_helps(self, pods: Sequence[Pod]) -> str:
        """Return why nodes for these pods together would stay empty; if "", record that they request nodes."""
        raise NotImplementedError

    def withdraw_request(self, pod: Pod) -> bool:
        """Record that a pod no longer requests a node; True if it did."""
        raise NotImplementedError
