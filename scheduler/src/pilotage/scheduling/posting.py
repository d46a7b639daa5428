"""The bind request itself; its outcome is certain before anything else happens to the pod."""

import asyncio
from collections.abc import Callable

from pilotage.cache.cluster_cache import ClusterCache
from pilotage.cluster.write.bind_outcomes import Bound, Refused
from pilotage.cluster.write.binder import Binder, Sighting
from pilotage.framework.api.verdicts import PluginFailed
from pilotage.model.pod import Pod
from pilotage.scheduling.outside import Lookup


class Posting:
    """Posts bindings, and follows watch events of their pods meanwhile."""

    def __init__(
        self,
        cache: ClusterCache,
        known: Lookup,
        may_act: Callable[[], bool],
        still_fits: Callable[[Pod, str], bool] = lambda _pod, _node: True,
    ) -> None:
        self._cache = cache
        self._known = known
        self._may_act = may_act
        self._still_fits = still_fits
        self._sightings: dict[str, Sighting] = {}  # by uid

    def may_write(self, pod: Pod | None, node: str) -> bool:
        """Return whether we lead, and the pod and node of the request exist; called right before it is sent."""
        if not self._may_act() or (node and self._cache.find_node(node) is None):
            return False
        latest = None if pod is None else self._latest(pod)
        return pod is None or (latest is not None and not latest.is_terminating)

    def may_send(self, pod: Pod, node: str) -> bool:
        """Return the same for a bind, which must also still fit: requests may have waited for a connection."""
        return bool(node) and self.may_write(pod, node) and self._still_fits(pod, node)

    def resolved(self, pod: Pod | None, uid: str) -> None:
        """Record that a pod is bound or deleted."""
        sighting = self._sightings.get(uid)
        if sighting is not None and not sighting.done():
            sighting.set_result("" if pod is None else pod.node_name)

    async def post(self, binder: Binder, pod: Pod, node: str) -> None:
        """Bind a pod; PluginFailed if it is not bound."""
        sighting: Sighting = asyncio.get_running_loop().create_future()
        self._sightings[pod.uid] = sighting
        latest = self._latest(pod)
        if latest is not None and latest.node_name:  # it was bound while it waited for its turn
            self.resolved(latest, pod.uid)
        try:
            outcome = await binder.bind(pod, node, sighting)
        finally:
            del self._sightings[pod.uid]
        if isinstance(outcome, Bound):
            return
        raise PluginFailed(outcome.message if isinstance(outcome, Refused) else "the outcome of the bind is unknown")

    def _latest(self, pod: Pod) -> Pod | None:
        latest = self._known(pod.key)
        return latest if latest is not None and latest.uid == pod.uid else None
