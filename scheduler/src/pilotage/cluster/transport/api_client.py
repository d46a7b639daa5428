"""Requests to the Kubernetes API: rate-limited, on keep-alive connections, and with three distinct kinds of failure."""

# ruff: noqa: ASYNC109 - after a cancellation the caller would not know whether the request was sent

import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from time import monotonic
from typing import NamedTuple, TypeAlias
from urllib.parse import urlencode

from pilotage.cluster.credentials.access import Access
from pilotage.cluster.credentials.credentials import Identity
from pilotage.cluster.transport.api_calls import MaySend
from pilotage.cluster.transport.api_errors import KeptConnectionClosed, NoAccess, Unreachable, Withheld, api_error
from pilotage.cluster.transport.connection_pool import ConnectionPool
from pilotage.cluster.transport.flow_control import TokenBucket
from pilotage.cluster.transport.http_connection import Answer, HttpConnection, connect
from pilotage.cluster.transport.http_stream import HttpStream

LARGEST_ANSWER = 64 << 20
_LARGEST_REFUSAL = 1 << 20
JSON = "application/json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"

# Called for every request: its verb, the status or "<error>", and its duration in seconds.
Observe: TypeAlias = Callable[[str, str, float], None]
_ACCEPT_JSON = f"Accept: {JSON}\r\n"
_NO_QUERY: Mapping[str, str] = {}
_TARGET = re.compile(r"/[!-\"$->@-~]*(?:\?[!-\"$-~]*)?")
_HEADER = re.compile(r"[ -~]*")


class _Request(NamedTuple):
    """A request, without credentials."""

    verb: str
    target: str
    body: bytes = b""
    content_type: str = JSON
    may_send: MaySend | None = None
    accept: str = JSON


class ApiClient:
    """A client of one API server as one user; its methods return the body of a successful response.

    They fail with ApiError (the server returned an error), Unreachable (nothing was sent), OutcomeUnknown (it was sent,
    without a complete response), or Withheld (`may_send` returned False). `qps` 0 means no rate limit. `timeout` is for
    the server; waiting for a free connection before may take as long again.
    """

    def __init__(
        self,
        access: Access,
        *,
        agent: str,
        qps: float = 0,
        burst: int = 0,
        connections: int = 32,
        timeout: float = 30.0,
        observe: Observe | None = None,
        largest: int = LARGEST_ANSWER,
    ) -> None:
        self._access = access
        self._timeout = timeout
        self._largest = largest
        self._observe = observe
        self._bucket = TokenBucket(qps, burst) if qps > 0 else None
        self._pool = ConnectionPool(access, connections)
        self._headers = _fixed_headers(access, agent)

    async def get(
        self, path: str, query: Mapping[str, str] = _NO_QUERY, *, timeout: float | None = None, accept: str = JSON
    ) -> bytes:
        """Read an object or a list."""
        return await self._answer(_Request("GET", _target(path, query), accept=accept), timeout)

    async def post(
        self, path: str, body: bytes, *, timeout: float | None = None, may_send: MaySend | None = None
    ) -> bytes:
        """Create an object, or act on one through a subresource."""
        return await self._answer(_Request("POST", path, body, may_send=may_send), timeout)

    async def put(
        self,
        path: str,
        body: bytes,
        *,
        content_type: str = JSON,
        timeout: float | None = None,
        may_send: MaySend | None = None,
    ) -> bytes:
        """Replace an object."""
        return await self._answer(_Request("PUT", path, body, content_type, may_send), timeout)

    async def patch(
        self,
        path: str,
        body: bytes,
        *,
        content_type: str = STRATEGIC_MERGE_PATCH,
        timeout: float | None = None,
        may_send: MaySend | None = None,
    ) -> bytes:
        """Change parts of an object."""
        return await self._answer(_Request("PATCH", path, body, content_type, may_send), timeout)

    async def delete(
        self, path: str, body: bytes = b"", *, timeout: float | None = None, may_send: MaySend | None = None
    ) -> bytes:
        """Delete an object."""
        return await self._answer(_Request("DELETE", path, body, may_send=may_send), timeout)

    @asynccontextmanager
    async def stream(
        self, path: str, query: Mapping[str, str] = _NO_QUERY, *, timeout: float | None = None
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a streaming response, and yield its bytes as they arrive; `timeout` only applies to its start.

        The iteration ends with the response, and fails with OutcomeUnknown if the connection breaks.
        """
        stream = await self._open_stream(_target(path, query), timeout or self._timeout)
        try:
            yield stream
        finally:
            await stream.close()

    async def close(self) -> None:
        """Close the connections; requests in flight fail."""
        await self._pool.close()

    async def _answer(self, request: _Request, timeout: float | None) -> bytes:
        if self._bucket is not None:
            await self._bucket.take()
        started, code = monotonic(), "<error>"
        try:
            answer = await self._ask_with_credentials(request, timeout or self._timeout)
            code = str(answer.status)
        finally:
            self._tell(request.verb, code, started)
        if answer.status >= 300:
            raise api_error(answer.status, answer.body, answer.retry_after)
        return answer.body

    async def _ask_with_credentials(self, request: _Request, seconds: float) -> Answer:
        if self._access.is_stale:
            await self._renew(None)
        identity = self._access.identity
        answer = await self._ask(request, seconds)
        if answer.status == 401:
            await self._renew(identity)
            if self._access.identity is not identity:
                answer = await self._ask(request, seconds)
        return answer

    async def _ask(self, request: _Request, seconds: float) -> Answer:
        message = self._message(request)
        connection, left = await self._pool.take(seconds)
        deadline = monotonic() + left
        try:
            return await self._exchange(connection, message, deadline, request.may_send)
        except KeptConnectionClosed:
            # Most likely because of its age. Still, only requests without side effects may be sent twice.
            if request.verb != "GET":
                raise
        connection, _ = await self._pool.take(deadline - monotonic(), fresh=True)
        return await self._exchange(connection, message, deadline)

    async def _exchange(
        self, connection: HttpConnection, message: bytes, deadline: float, may_send: MaySend | None = None
    ) -> Answer:
        try:
            if may_send is not None and not may_send():
                raise Withheld("it was withdrawn before a connection became available")
            return await connection.exchange(message, seconds=deadline - monotonic(), largest=self._largest)
        finally:
            self._pool.release(connection)

    async def _open_stream(self, target: str, seconds: float) -> HttpStream:
        if self._bucket is not None:
            await self._bucket.take()
        started, code = monotonic(), "<error>"
        try:
            stream, status = await self._begin_stream(target, seconds)
            code = str(status)
        finally:
            self._tell("GET", code, started)
        if status == 200:
            return stream
        try:
            raise api_error(status, await stream.read(_LARGEST_REFUSAL, seconds), stream.retry_after)
        finally:
            await stream.close()

    async def _begin_stream(self, target: str, seconds: float) -> tuple[HttpStream, int]:
        if self._access.is_stale:
            await self._renew(None)
        identity = self._access.identity
        stream, status = await self._begin_once(target, seconds)
        if status == 401:
            await self._renew(identity)
            if self._access.identity is not identity:
                await stream.close()
                stream, status = await self._begin_once(target, seconds)
        return stream, status

    async def _begin_once(self, target: str, seconds: float) -> tuple[HttpStream, int]:
        stream = await connect(self._access, HttpStream, seconds)
        try:
            return stream, await stream.begin(self._message(_Request("GET", target)), seconds)
        except BaseException:
            await stream.close()
            raise

    async def _renew(self, refused: Identity | None) -> None:
        try:
            await self._access.renew(refused)
        except NoAccess as error:
            raise Unreachable(f"the server rejected the credentials, and there are no others: {error}") from error

    def _message(self, request: _Request) -> bytes:
        verb, target, body, content_type = request[:4]
        if not _TARGET.fullmatch(target):
            raise ValueError(f"{target!r} is not an API path")
        authorization = self._access.identity.authorization
        who = f"Authorization: {authorization}\r\n" if authorization else ""
        what = f"Content-Type: {content_type}\r\nContent-Length: {len(body)}\r\n" if body or verb != "GET" else ""
        fixed = self._headers
        if request.accept != JSON:
            fixed = fixed.replace(_ACCEPT_JSON, f"Accept: {request.accept}\r\n", 1)
        head = f"{verb} {self._access.base_path}{target} HTTP/1.1\r\n{fixed}{who}{what}\r\n"
        return head.encode("ascii") + body

    def _tell(self, verb: str, code: str, started: float) -> None:
        if self._observe is not None:
            self._observe(verb, code, monotonic() - started)


def _target(path: str, query: Mapping[str, str]) -> str:
    return f"{path}?{urlencode(query)}" if query else path


def _fixed_headers(access: Access, agent: str) -> str:
    if not _HEADER.fullmatch(agent):
        raise ValueError(f"{agent!r} is not a valid User-Agent")
    host = f"[{access.host}]" if ":" in access.host else access.host
    # Compression would cost more CPU than it saves on the network.
    accepted = f"{_ACCEPT_JSON}Accept-Encoding: identity\r\n"
    acting = "".join(f"{name}: {value}\r\n" for name, value in access.acting_as)
    return f"Host: {host}:{access.port}\r\nUser-Agent: {agent}\r\n{accepted}{acting}"
