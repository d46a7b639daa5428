"""The last step: the API server is told where a pod goes."""

from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.plugin import Bind, Permission
from pilotage.framework.api.verdicts import Skip
from pilotage.model.pod import Pod


class DefaultBinder(Bind):
    """Bind pods to their nodes through the API server."""

    permissions = (Permission("", "pods/binding", ("create",)),)

    async def bind(self, cycle: Cycle, pod: Pod, node: str) -> Skip | None:
        """Post the binding; whatever is wrong with it is raised."""
        await self.handle.api.bind(pod, node)
        return None
