"""Serves the operator's metrics by plain HTTP: there is nothing in them but names of profiles, and how they are."""

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from aiohttp import web

log = logging.getLogger(__name__)

_HEADERS = {"Content-Type": "text/plain; version=0.0.4; charset=utf-8", "X-Content-Type-Options": "nosniff"}
_LAST_SECONDS = 1.0


@asynccontextmanager
async def serving_metrics(port: int, text: Callable[[], str]) -> AsyncIterator[int]:
    """Serve /metrics until the block ends; 0 serves nothing. Gives the port; without it the operator works, too."""

    async def metrics(_: web.Request) -> web.Response:
        return web.Response(body=text().encode(), headers=_HEADERS)

    app = web.Application(client_max_size=0)
    app.router.add_get("/metrics", metrics)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=_LAST_SECONDS)
    try:
        yield await _listen(runner, port) if port else 0
    finally:
        await runner.cleanup()


async def _listen(runner: web.AppRunner, port: int) -> int:
    await runner.setup()
    try:
        await web.TCPSite(runner, port=port).start()
    except OSError as error:
        log.error("nobody can read the metrics: port %s cannot be had: %s", port, error)
        return 0
    return port
