"""The operator's controllers in this process, on a small API server."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from kit.custom_api import CustomApi
from pilotage.cluster.credentials.access import from_kubeconfig
from pilotage_operator.cluster import Cluster
from pilotage_operator.controllers.api import ControllerApi
from pilotage_operator.controllers.registry import CONTROLLERS, Controller
from pilotage_operator.controllers.runtime import Controllers
from pilotage_operator.settings import settings_for

PATIENCE = 20.0  # seconds


@asynccontextmanager
async def running(
    api: CustomApi, *kinds: str, controllers: tuple[Controller, ...] = CONTROLLERS
) -> AsyncIterator[None]:
    """Run the controllers of one operator until the block ends: as abruptly as if it were killed."""
    cluster = Cluster(settings_for("here", "pilot"), from_kubeconfig(None, master=api.url))
    wanted = kinds or [controller.resource.kind for controller in controllers]
    task = asyncio.create_task(Controllers(ControllerApi(cluster), wanted, controllers).run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await cluster.close()


async def until(holds: Callable[[], object]) -> None:
    """Wait until something holds."""
    async with asyncio.timeout(PATIENCE):
        while not holds():  # noqa: ASYNC110 - what is waited for happens in another task, over HTTP
            await asyncio.sleep(0.01)


async def quiet(api: CustomApi) -> None:
    """Wait until nothing has been asked for a while."""
    before = -1
    while before != len(api.requests):
        before = len(api.requests)
        await asyncio.sleep(0.3)
