"""DefaultBinder: posts the binding to the API server."""

from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.plugin import Bind, Permission
from pilotage.framework.api.verdicts import Skip
from pilotage.model.pod import Pod


class DefaultBinder(Bind):
    """Bind pods to their nodes through the API server."""

    permissions = (Permission("", "pods/binding", ("create",)),)

    async def bind(self, cycle: Cycle, pod: Pod, node: str) -> Skip | None:
        """Post the binding; raises on failure."""
        await self.handle.api.bind(pod, node)
        return None
