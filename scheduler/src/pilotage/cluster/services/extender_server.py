"""Serves an extender over HTTP, to kube-scheduler or any other client of that protocol."""

import asyncio
import logging
import ssl
from collections.abc import Awaitable, Callable, Sequence
from ipaddress import ip_address
from typing import Protocol
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Handler

from pilotage.listening.front_door import FrontDoor, Patience
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

# Enough for five thousand complete nodes with fifty images each.
LARGEST_QUESTION = 64 * 1024 * 1024
READ_SECONDS = 30.0  # to read a complete request
LAST_SECONDS = 2.0  # for requests in flight when we stop
# Usually there is one client, with many concurrent binds.
PATIENCE = Patience(connections=512, connections_of_one_peer=256, handshakes_a_second=1000.0, idle=75.0)

Bind = Callable[[Binding], Awaitable[str]]  # the error, or ""
NO_BIND = "this extender does not bind pods: it was started without --kubeconfig"
JSON = "application/json"
LOCALHOST = "localhost"


class Exposed(Exception):
    """Every host that reaches the address could send requests; the message says what to do."""


class Service(Protocol):
    """Handles requests; Malformed if a request is invalid, any other exception if it fails."""

    def filter(self, question: NodesQuestion) -> tuple[FilterResult, Sequence[bytes] | None]:
        """Return which nodes fit, by name or as objects."""

    def prioritize(self, question: NodesQuestion) -> Sequence[tuple[str, int]]:
        """Return scores by node."""

    def preempt(self, question: PreemptQuestion) -> dict[str, VictimsOnNode]:
        """Return victims by node."""


class ExtenderServer:
    """Serves `filter`, `prioritize`, `preempt` and `bind`, each at a path of that name, and `/healthz`."""

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
        self._knows_clients = False
        app = web.Application(client_max_size=largest_question, middlewares=[self._attended, self._addressed])
        app.router.add_get("/healthz", self._health)
        app.router.add_post("/filter", self._answering(self._filter))
        app.router.add_post("/prioritize", self._answering(self._prioritize))
        app.router.add_post("/preempt", self._answering(self._preempt))
        app.router.add_post("/bind", self._answering(self._bound))
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=LAST_SECONDS)
        self._door: FrontDoor | None = None

    async def start(self, address: str, port: int, context: ssl.SSLContext | None = None) -> str:
        """Listen, and return the URL; OSError if the address is in use, Exposed if clients are not authenticated."""
        refuse_exposed(address, context)
        self._knows_clients = knows_clients(context)
        await self._runner.setup()
        assert self._runner.server is not None
        self._door = FrontDoor(self._runner.server, PATIENCE, context)
        await self._door.open(address, port)
        host, bound = self._door.address
        return f"{'http' if context is None else 'https'}://{f'[{host}]' if ':' in host else host}:{bound}"

    async def stop(self) -> None:
        """Finish the requests in flight, and stop listening."""
        if self._door is not None:
            self._door.close()
        await self._runner.cleanup()

    @web.middleware
    async def _attended(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        assert self._door is not None
        with self._door.answering(request.protocol):
            return await handler(request)

    @web.middleware
    async def _addressed(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Reject requests for other host names: a web page can make its own name resolve to 127.0.0.1."""
        if not self._knows_clients and not is_loopback(_host(request.host)):
            return _refusal(421, f"this extender is served only as 127.0.0.1 or {LOCALHOST}; change urlPrefix")
        return await handler(request)

    async def _health(self, request: web.Request) -> web.Response:
        return web.Response(text="ok") if self._is_ready() else _refusal(503, "the cluster has not been listed yet")

    def _answering(
        self, answer: Callable[[bytes], Awaitable[bytes]]
    ) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def handle(request: web.Request) -> web.Response:
            if request.content_type != JSON:  # web pages cannot send JSON to another origin without a preflight
                return _refusal(415, f"requests must be {JSON}")
            if not self._is_ready():
                return _refusal(503, "the cluster has not been listed yet")
            try:
                async with asyncio.timeout(READ_SECONDS):
                    body = await request.read()
            except TimeoutError:
                return _refusal(408, f"the request took longer than {READ_SECONDS:g} s")
            try:
                return web.Response(body=await answer(body), content_type=JSON)
            except Malformed as error:
                return _refusal(400, str(error))
            except Exception as error:
                log.warning("%s failed", request.path, exc_info=error)
                return _refusal(500, _told(error))

        return handle

    async def _filter(self, body: bytes) -> bytes:
        question = read_nodes_question(body)
        try:
            return write_filter_result(*self._service.filter(question))
        except Malformed:
            raise
        except Exception as error:
            log.warning("/filter failed", exc_info=error)
            return write_filter_result(FilterResult(error=_told(error)))

    async def _prioritize(self, body: bytes) -> bytes:
        return write_priorities(self._service.prioritize(read_nodes_question(body)))

    async def _preempt(self, body: bytes) -> bytes:
        return write_preempt_result(self._service.preempt(read_preempt_question(body)))

    async def _bound(self, body: bytes) -> bytes:
        binding = read_binding(body)
        if not binding.name or not binding.node:
            raise Malformed("a binding must name a pod (PodName, PodNamespace, PodUID) and a Node")
        if self._bind is None:
            return write_error(NO_BIND)
        try:
            return write_error(await self._bind(binding))
        except Exception as error:
            log.warning("/bind failed", exc_info=error)
            return write_error(_told(error))


def knows_clients(context: ssl.SSLContext | None) -> bool:
    """Return whether clients need a certificate."""
    return context is not None and context.verify_mode == ssl.CERT_REQUIRED


def refuse_exposed(address: str, context: ssl.SSLContext | None) -> None:
    """Raise Exposed if other machines could connect without a certificate."""
    if not knows_clients(context) and not is_loopback(address):
        raise Exposed(
            f"--address {address} is open to other machines, and any of them could query and bind pods; set "
            "--tls-cert-file, --tls-private-key-file and --client-ca-file, so that clients need a certificate, or "
            "listen on --address 127.0.0.1"
        )


def is_loopback(address: str) -> bool:
    """Return whether only this machine can connect to an address; the only such name is localhost."""
    try:
        return ip_address(address.partition("%")[0]).is_loopback
    except ValueError:
        return address.rstrip(".").lower() == LOCALHOST


def _host(header: str) -> str:
    try:
        return urlsplit(f"//{header}").hostname or ""
    except ValueError:
        return ""


def _refusal(status: int, text: str) -> web.Response:
    return web.Response(status=status, text=f"{text}\n")


def _told(error: Exception) -> str:
    return str(error) or type(error).__name__
