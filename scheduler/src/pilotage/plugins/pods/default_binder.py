"""The last step: the API server is told where a pod goes."""

from collections.abc import Awaitable, Callable

from pydantic import PrivateAttr

from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.plugin import Bind, Permission
from pilotage.framework.api.verdicts import PluginFailed, Skip
from pilotage.model.pod import Pod


class DefaultBinder(Bind):
    """Bind pods to their nodes through the API server."""

    permissions = (Permission("", "pods/binding", ("create",)),)

    _post_binding: Callable[[Pod, str], Awaitable[None]] | None = PrivateAttr(default=None)

    def connect(self, post_binding: Callable[[Pod, str], Awaitable[None]]) -> None:
        """Take what posts the binding of a pod to a node, by the pod's uid."""
        self._post_binding = post_binding

    async def bind(self, cycle: Cycle, pod: Pod, node: str) -> Skip | None:
        """Post the binding; whatever is wrong with it is raised."""
        if self._post_binding is None:
            raise PluginFailed(f"cannot bind {pod.key} to {node}: this scheduler is not connected to an API server")
        await self._post_binding(pod, node)
        return None
