"""The API server for plugins in tests of the engine: it binds as it is told, and does nothing else."""

from collections.abc import Awaitable, Callable

from pilotage.framework.api.handle import OfflineApi
from pilotage.model.pod import Pod


class BindingApi(OfflineApi):
    """Binds by a function."""

    def __init__(self, bind: Callable[[Pod, str], Awaitable[None]]) -> None:
        self._bind = bind

    async def bind(self, pod: Pod, node: str) -> None:
        """Bind a pod."""
        await self._bind(pod, node)
