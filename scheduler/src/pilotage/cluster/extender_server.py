"""Serves an extender over HTTP, to a kube-scheduler or whoever else speaks its language."""

import asyncio
import logging
import ssl
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from aiohttp import web

from pilotage.model.extender_messages import (
    Binding,
    FilterResult,
    Malformed,
    NodesQuestion,
    PreemptQuestion,
    VictimsOnNode,
    read_binding,
    read_nodes_question,
    read_preempt_question,
    write_error,
    write_filter_result,
    write_preempt_result,
    write_priorities,
)

log = logging.getLogger(__name__)

# Five thousand nodes with fifty images each, as whole objects.
LARGEST_QUESTION = 64 * 1024 * 1024
READ_SECONDS = 30.0  # for a whole question
LAST_SECONDS = 2.0  # for questions under way when we stop

Bind = Callable[[Binding], Awaitable[str]]  # what went wrong, or ""
NO_BIND = "this extender binds no pods: it was started without --kubeconfig"


class Service(Protocol):
    """Knows the answers; Malformed if a question makes no sense, any other exception if it fails."""

    def filter(self, question: NodesQuestion) -> tuple[FilterResult, Sequence[bytes] | None]:
        """Return which nodes do, by name or as objects."""

    def prioritize(self, question: NodesQuestion) -> Sequence[tuple[str, int]]:
        """Return scores by node."""

    def preempt(self, question: PreemptQuestion) -> dict[str, VictimsOnNode]:
        """Return victims by node."""


class ExtenderServer:
    """Answers `filter`, `prioritize`, `preempt` and `bind`, each under its own name, and `/healthz`."""

    def __init__(
        self,
        service: Service,
        bind: Bind | None = None,
        *,
        is_ready: Callable[[], bool] = lambda: True,
        largest_question: int = LARGEST_QUESTION,
    ) -> None:
        self._service = service
        self._bind = bind
        self._is_ready = is_ready
        app = web.Application(client_max_size=largest_question)
        app.router.add_get("/healthz", self._health)
        app.router.add_post("/filter", self._answering(self._filter))
        app.router.add_post("/prioritize", self._answering(self._prioritize))
        app.router.add_post("/preempt", self._answering(self._preempt))
        app.router.add_post("/bind", self._answering(self._bound))
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=LAST_SECONDS)

    async def start(self, address: str, port: int, context: ssl.SSLContext | None = None) -> str:
        """Listen, and return the URL; OSError if the address is taken."""
        await self._runner.setup()
        await web.TCPSite(self._runner, address, port, ssl_context=context).start()
        host, bound = self._runner.addresses[0][:2]
        return f"{'http' if context is None else 'https'}://{f'[{host}]' if ':' in host else host}:{bound}"

    async def stop(self) -> None:
        """Let questions under way come to their end, and listen no more."""
        await self._runner.cleanup()

    async def _health(self, request: web.Request) -> web.Response:
        return web.Response(text="ok") if self._is_ready() else _refusal(503, "the cluster is not known yet")

    def _answering(
        self, answer: Callable[[bytes], Awaitable[bytes]]
    ) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def handle(request: web.Request) -> web.Response:
            if not self._is_ready():
                return _refusal(503, "the cluster is not known yet")
            try:
                async with asyncio.timeout(READ_SECONDS):
                    body = await request.read()
            except TimeoutError:
                return _refusal(408, f"the question took longer than {READ_SECONDS:g} s")
            try:
                return web.Response(body=await answer(body), content_type="application/json")
            except Malformed as error:
                return _refusal(400, str(error))
            except Exception as error:
                log.warning("%s cannot be answered", request.path, exc_info=error)
                return _refusal(500, _told(error))

        return handle

    async def _filter(self, body: bytes) -> bytes:
        question = read_nodes_question(body)
        try:
            return write_filter_result(*self._service.filter(question))
        except Malformed:
            raise
        except Exception as error:
            log.warning("/filter cannot be answered", exc_info=error)
            return write_filter_result(FilterResult(error=_told(error)))

    async def _prioritize(self, body: bytes) -> bytes:
        return write_priorities(self._service.prioritize(read_nodes_question(body)))

    async def _preempt(self, body: bytes) -> bytes:
        return write_preempt_result(self._service.preempt(read_preempt_question(body)))

    async def _bound(self, body: bytes) -> bytes:
        binding = read_binding(body)
        if not binding.name or not binding.node:
            raise Malformed("a binding names a pod (PodName, PodNamespace, PodUID) and a Node")
        if self._bind is None:
            return write_error(NO_BIND)
        try:
            return write_error(await self._bind(binding))
        except Exception as error:
            log.warning("/bind cannot be answered", exc_info=error)
            return write_error(_told(error))


def _refusal(status: int, text: str) -> web.Response:
    return web.Response(status=status, text=f"{text}\n")


def _told(error: Exception) -> str:
    return str(error) or type(error).__name__
