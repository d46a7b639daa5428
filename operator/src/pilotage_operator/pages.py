"""Serves the operator's two pages over plain HTTP: health and metrics."""

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from aiohttp import web

from pilotage.listening.front_door import FrontDoor

log = logging.getLogger(__name__)

_HEADERS = {"X-Content-Type-Options": "nosniff"}
_METRICS = {"Content-Type": "text/plain; version=0.0.4; charset=utf-8"}
_TEXT = {"Content-Type": "text/plain; charset=utf-8"}
_METHODS = ("GET", "HEAD")
_LAST_SECONDS = 1.0
_LINGERING = 1.0  # seconds for an unexpected body

Page = Callable[[], web.Response]


def serving_metrics(port: int, text: Callable[[], str]) -> AbstractAsyncContextManager[int]:
    """Serve /metrics during the block; yields the port. 0 disables it; the operator also works without it."""
    return _serving(port, "/metrics", lambda: web.Response(text=text(), headers=_HEADERS | _METRICS))


def serving_health(port: int, trouble: Callable[[], str]) -> AbstractAsyncContextManager[int]:
    """Serve /healthz during the block: 500 and the reason if this process should be replaced."""

    def health() -> web.Response:
        found = trouble()
        return web.Response(status=500 if found else 200, text=found or "ok", headers=_HEADERS | _TEXT)

    return _serving(port, "/healthz", health)


@asynccontextmanager
async def _serving(port: int, path: str, page: Page) -> AsyncIterator[int]:
    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        with door.answering(request.protocol):
            return _answer(request, path, page)

    server = web.Server(answer, access_log=None, lingering_time=_LINGERING)
    door = FrontDoor(server)
    try:
        yield await _open(door, port, path) if port else 0
    finally:
        door.close()
        server.pre_shutdown()
        await server.shutdown(_LAST_SECONDS)


def _answer(request: web.BaseRequest, path: str, page: Page) -> web.Response:
    if request.path != path:
        return web.Response(status=404, headers=_HEADERS)
    if request.method not in _METHODS:
        return web.Response(status=405, headers=_HEADERS | {"Allow": ", ".join(_METHODS)})
    return page()


async def _open(door: FrontDoor, port: int, path: str) -> int:
    try:
        await door.open(None, port)
    except OSError as error:
        log.error("%s is not served: cannot listen on port %s: %s", path, port, error)
        return 0
    return port
