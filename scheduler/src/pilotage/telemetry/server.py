"""The HTTPS server of the scheduler: probes, metrics and pages, behind a guard."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Protocol

from aiohttp import web

from pilotage.listening.front_door import FrontDoor, Patience
from pilotage.model.go_text import quoted
from pilotage.model.users import User
from pilotage.telemetry.measured import Measured
from pilotage.telemetry.pages import Answer, Question, Stream, status_answer
from pilotage.telemetry.serving_certificate import CannotServe, ServingCertificate

log = logging.getLogger(__name__)

_HEADERS = {"Cache-Control": "no-cache, private", "X-Content-Type-Options": "nosniff", "Server": "pilotage"}
_PIECE = 64 << 10
ReportRequest = Callable[[str, int, float | None], None]  # the path, the status, and the seconds; None for a stream


class Denial(Protocol):
    """Why a request is refused: 401, 403, or 500 if authorization failed."""

    @property
    def status(self) -> int: ...
    @property
    def message(self) -> str: ...


class Guard(Protocol):
    """Authorizes requests."""

    async def judge(
        self, method: str, path: str, headers: Mapping[str, Sequence[str]], peer_certificate: bytes | None
    ) -> Denial | User | None:
        """Return why the request is refused, or its user, or None if the path needs no user.

        Header names are in lower case; the certificate is DER.
        """


class Answers(Protocol):
    """The pages by path."""

    def reads_body(self, method: str, path: str) -> bool:
        """Return whether this path uses the body of a request."""

    async def answer(self, question: Question) -> Answer | Stream:
        """Handle any request."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits for a client: sizes, and times in seconds."""

    body: int = 1 << 20
    line: int = 16 << 10  # also of a header, including a token
    headers: int = 64
    body_time: float = 10.0
    sending: float = 30.0
    # How long unread data is still received, so that the client sees the response.
    lingering: float = 1.0
    patience: Patience = field(default_factory=Patience)


class Server:
    """Listens from start to stop, and reloads changed certificates."""

    def __init__(
        self,
        pages: Answers,
        guard: Guard,
        certificate: ServingCertificate,
        *,
        limits: Limits = Limits(),  # noqa: B008 - it is frozen
        port_flag: str = "--secure-port",
        refresh_every: float = 2.0,  # seconds between checks for changed certificates and client CAs
        report_slice: Callable[[float], None] | None = None,  # called with the CPU time of each slice of an answer
        report_request: ReportRequest = lambda _path, _status, _seconds: None,
    ) -> None:
        self._pages = pages
        self._guard = guard
        self._certificate = certificate
        self._limits = limits
        self._port_flag = port_flag
        self._refresh_every = refresh_every
        self._report_slice, self._report_request = report_slice, report_request
        self._connections: _Connections | None = None
        self._door: FrontDoor | None = None
        self._refreshing: asyncio.Task[None] | None = None

    @property
    def port(self) -> int:
        """The port, also if any free port was requested."""
        assert self._door is not None
        return self._door.address[1]

    @property
    def connected(self) -> int:
        """The number of connected or connecting clients."""
        return self._door.connected if self._door else 0

    async def start(self, address: str, port: int, *, share_port: bool = False) -> None:
        """Listen; port 0 means any free port (a caller handles --secure-port=0)."""
        self._connections = _Connections(self._respond, self._limits)
        self._door = FrontDoor(self._connections, self._limits.patience, self._certificate.context)
        try:
            await self._door.open(address, port, share_port=share_port)
        except OSError as error:
            self._door = None
            raise CannotServe(
                f"cannot listen on {address}:{port}: {error.strerror}; "
                f"choose another --bind-address or {self._port_flag}"
            ) from error
        self._refreshing = asyncio.create_task(self._refresh(), name="serving-certificate")

    async def stop(self, seconds: float = 5.0) -> None:
        """Stop accepting connections, finish requests in progress, and close the rest after a time."""
        if self._door is None or self._connections is None or self._refreshing is None:
            return
        self._refreshing.cancel()
        self._door.close()
        self._connections.pre_shutdown()
        # Each connection waits for its response and then for its task: half of the time for each.
        await self._connections.shutdown(seconds / 2)
        self._door = self._connections = self._refreshing = None

    async def _refresh(self) -> None:
        while True:
            await asyncio.sleep(self._refresh_every)
            try:
                self._certificate.refresh()
            except Exception:
                log.exception("the serving certificate could not be checked")

    async def _respond(self, request: web.BaseRequest) -> web.StreamResponse:
        assert self._door is not None
        with self._door.answering(request.protocol):
            responding = self._responded(request)
            return await (responding if self._report_slice is None else Measured(responding, self._report_slice))

    async def _responded(self, request: web.BaseRequest) -> web.StreamResponse:
        began = monotonic()
        answer = await self._answer(request)
        if isinstance(answer, Stream):
            self._report_request(request.path, 200, None)
            return await self._streamed(request, answer)
        response = web.StreamResponse(status=answer.status, headers=_headers(answer))
        response.content_length = len(answer.body)
        if answer.status in (408, 413):
            response.force_close()
        transport = request.transport
        try:
            async with asyncio.timeout(self._limits.sending):
                await _send(request, response, answer.body)
        except (TimeoutError, ConnectionError):
            if transport is not None:
                transport.abort()
        self._report_request(request.path, answer.status, monotonic() - began)
        return response

    async def _streamed(self, request: web.BaseRequest, answer: Stream) -> web.StreamResponse:
        """Send a stream; a client that does not receive in time is disconnected, and nothing is buffered for it."""
        response = web.StreamResponse(headers=_headers(answer))
        transport = request.transport
        try:
            async with asyncio.timeout(self._limits.sending):
                await response.prepare(request)
            async for piece in answer.pieces:
                async with asyncio.timeout(self._limits.sending):
                    await response.write(piece)
                    await request.writer.drain()
            await response.write_eof()
        except (TimeoutError, ConnectionError) as error:
            if isinstance(error, TimeoutError):
                answer.drop()
            if transport is not None:
                transport.abort()
        finally:
            await answer.pieces.aclose()
        return response

    async def _answer(self, request: web.BaseRequest) -> Answer | Stream:
        if (request.content_length or 0) > self._limits.body:
            return _TOO_LARGE
        headers = _by_name(request)
        if not _is_text(request.path, headers):
            return Answer(400, b"400 bad request\n")
        try:
            judged = await self._guard.judge(request.method, request.path, headers, _peer_certificate(request))
        except Exception:
            log.exception("a request could not be authorized")
            return Answer(500, b"500 internal server error\n")
        if judged is not None and not isinstance(judged, User):
            return _refused(request.path, judged)
        body = await self._body(request) if self._pages.reads_body(request.method, request.path) else b""
        if isinstance(body, Answer):
            return body
        query = {name: request.query.getall(name) for name in request.query}
        accept = ",".join(request.headers.getall("Accept", ()))
        return await self._pages.answer(Question(request.method, request.path, query, accept, body, headers, judged))

    async def _body(self, request: web.BaseRequest) -> bytes | Answer:
        try:
            async with asyncio.timeout(self._limits.body_time):
                return await request.read()
        except TimeoutError:
            return Answer(408, b"408 request timeout\n")
        except web.HTTPRequestEntityTooLarge:
            return _TOO_LARGE


_TOO_LARGE = Answer(413, b"413 request entity too large\n")


class _Connections(web.Server):
    """Creates the protocol of each connection."""

    def __init__(self, handler: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]], limits: Limits) -> None:
        super().__init__(handler, request_factory=self._request)
        self._limits = limits

    def __call__(self) -> web.RequestHandler:
        limits = self._limits
        return _Connection(
            self,
            loop=asyncio.get_running_loop(),
            keepalive_timeout=limits.patience.idle,
            max_line_size=limits.line,
            max_field_size=limits.line,
            max_headers=limits.headers,
            lingering_time=limits.lingering,
            # A small compressed body could expand to a huge one.
            auto_decompress=False,
            access_log=None,  # type: ignore[arg-type] # disables it
            logger=log,
        )

    def _request(self, message: Any, payload: Any, protocol: Any, writer: Any, task: Any) -> web.BaseRequest:
        loop = asyncio.get_running_loop()
        return web.BaseRequest(message, payload, protocol, writer, task, loop, client_max_size=self._limits.body)


class _Connection(web.RequestHandler):
    """One connection; invalid HTTP gets a short response and no traceback."""

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        log.debug("a connection was ended with %s: %s", status, exc)
        if request.writer.output_size > 0:
            raise ConnectionError("a part of the response was already sent")
        answer = Answer(status, b"%d %s\n" % (status, b"bad request" if status < 500 else b"error"))
        response = web.Response(status=status, body=answer.body, headers=_headers(answer))
        response.force_close()
        return response


def _headers(answer: Answer | Stream) -> dict[str, str]:
    return {**_HEADERS, **answer.headers, "Content-Type": answer.content_type}


async def _send(request: web.BaseRequest, response: web.StreamResponse, body: bytes) -> None:
    await response.prepare(request)
    if request.method != "HEAD":
        # In pieces: a large body would be buffered completely for a client that never reads.
        for start in range(0, len(body), _PIECE):
            await response.write(body[start : start + _PIECE])
            await request.writer.drain()
            # Lets other tasks run, also the one that notices a closed connection.
            await asyncio.sleep(0)
    await response.write_eof()


def _refused(path: str, denial: Denial) -> Answer:
    match denial.status:
        case 401:
            return status_answer(401, "Unauthorized", denial.message)
        case 403:
            return status_answer(403, "Forbidden", denial.message, with_details=True)
        case _:
            return Answer(500, f"Internal Server Error: {quoted(path)}: {denial.message}\n".encode())


def _by_name(request: web.BaseRequest) -> dict[str, list[str]]:
    headers: dict[str, list[str]] = {}
    for name, value in request.headers.items():
        headers.setdefault(name.lower(), []).append(value)
    return headers


def _is_text(path: str, headers: Mapping[str, Sequence[str]]) -> bool:
    # Invalid UTF-8 is decoded to surrogates, which cannot be encoded again.
    try:
        "".join([path, *headers, *(value for values in headers.values() for value in values)]).encode()
    except UnicodeEncodeError:
        return False
    return True


def _peer_certificate(request: web.BaseRequest) -> bytes | None:
    session = request.transport.get_extra_info("ssl_object") if request.transport is not None else None
    certificate: bytes | None = session.getpeercert(binary_form=True) if session is not None else None
    return certificate
