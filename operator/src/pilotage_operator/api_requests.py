"""Requests to the API server through the official client, with our time-outs and three distinct kinds of failure."""

# ruff: noqa: ASYNC109 - after a cancellation the caller would not know whether the request was sent

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, TypeVar

import aiohttp
from kubernetes.aio.client import ApiClient, ApiException

from pilotage.cluster.transport.api_errors import ApiError, OutcomeUnknown, Unreachable, api_error
from pilotage_operator.login import Login

T = TypeVar("T")
JSON, MERGE_PATCH = "application/json", "application/merge-patch+json"
LARGEST_ANSWER = 64 << 20
_LARGEST_REFUSAL = 1 << 20
_NO_QUERY: Mapping[str, str] = {}


class ApiRequests:
    """The requests of one program, a few at a time; they return the body of a successful response.

    They fail with ApiError (the server returned an error), Unreachable (nothing was sent) or OutcomeUnknown (it was
    sent, without a complete response). Objects are addressed by path and sent unchanged: the client's models would drop
    unknown fields, of users' pods for instance, and its classes for core/v1 and apps/v1 take 31 MB to import.
    """

    def __init__(self, login: Login, *, writer: str, seconds: float, at_once: int) -> None:
        self._login, self._seconds = login, seconds
        self._written_by = {"fieldManager": writer}
        self._turns = asyncio.Semaphore(at_once)

    async def get(self, path: str, query: Mapping[str, str] = _NO_QUERY, *, timeout: float | None = None) -> bytes:
        """Read an object or a list."""
        return await self._in_turn(lambda client: self._answer(client, "GET", path, query, seconds=timeout), timeout)

    async def create(self, path: str, manifest: Mapping[str, Any]) -> bytes:
        """Create an object."""
        return await self._in_turn(lambda client: self._answer(client, "POST", path, self._written_by, manifest))

    async def patch(self, path: str, change: Mapping[str, Any]) -> bytes:
        """Patch an object with a merge patch."""
        return await self._in_turn(lambda client: self._answer(client, "PATCH", path, self._written_by, change))

    async def delete(self, path: str, uid: str) -> bytes:
        """Delete an object, but never a successor of the same name."""
        options = {"preconditions": {"uid": uid}}
        return await self._in_turn(lambda client: self._answer(client, "DELETE", path, _NO_QUERY, options))

    async def typed(self, call: Callable[[ApiClient], Awaitable[T]]) -> T:
        """Call a method of an API class of the client."""

        async def ask(client: ApiClient) -> T:
            try:
                return await call(client)
            except ApiException as error:
                raise api_error(error.status, (error.body or "").encode(), _retry_after(error.headers or {})) from None
            except ValueError as error:
                raise OutcomeUnknown(f"invalid response: {error}") from error

        return await self._in_turn(ask)

    @asynccontextmanager
    async def stream(
        self, path: str, query: Mapping[str, str] = _NO_QUERY, *, timeout: float | None = None
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a streaming response, and yield its bytes as they arrive; `timeout` only applies to its start."""
        seconds = timeout or self._seconds

        async def begin(client: ApiClient) -> aiohttp.ClientResponse:
            async with asyncio.timeout(seconds):
                return await _sent(client, "GET", path, query, limits=aiohttp.ClientTimeout())

        with self._failures(seconds):
            response = await self._as_known(begin)
        try:
            yield self._pieces(response, seconds)
        finally:
            response.close()

    async def close(self) -> None:
        """Close all connections."""
        await self._login.close()

    async def _pieces(self, response: aiohttp.ClientResponse, seconds: float) -> AsyncIterator[bytes]:
        with self._failures(seconds):
            async for piece in response.content.iter_any():
                yield piece

    async def _in_turn(self, ask: Callable[[ApiClient], Awaitable[T]], seconds: float | None = None) -> T:
        """Wait for our turn and send a request; the time-out starts then."""
        wanted = seconds or self._seconds
        try:
            async with asyncio.timeout(wanted):
                await self._turns.acquire()
        except TimeoutError:
            raise Unreachable(f"all connections were in use for {wanted:.3g} seconds") from None
        try:
            with self._failures(wanted):
                return await self._as_known(ask)
        finally:
            self._turns.release()

    async def _as_known(self, ask: Callable[[ApiClient], Awaitable[T]]) -> T:
        client, identity = await self._login.client(), self._login.identity
        try:
            return await ask(client)
        except ApiError as error:
            if error.status != 401 or not await self._login.is_new_after(identity):
                raise
        return await ask(await self._login.client())

    async def _answer(
        self,
        client: ApiClient,
        verb: str,
        path: str,
        query: Mapping[str, str],
        body: Mapping[str, Any] | None = None,
        seconds: float | None = None,
    ) -> bytes:
        seconds = seconds or self._seconds
        limits = aiohttp.ClientTimeout(total=2 * seconds, connect=seconds, sock_read=seconds)
        response = await _sent(client, verb, path, query, body, limits=limits)
        try:
            found = await _read(response, LARGEST_ANSWER + 1)
        finally:
            response.close()
        if len(found) > LARGEST_ANSWER:
            raise OutcomeUnknown(f"invalid response: it is larger than {LARGEST_ANSWER} bytes")
        return found

    @contextmanager
    def _failures(self, seconds: float) -> Iterator[None]:
        """Convert connection errors, by whether anything was sent."""
        where = self._login.where
        try:
            yield
        except aiohttp.ClientConnectorCertificateError as error:
            why = getattr(error.certificate_error, "verify_message", "") or error.certificate_error
            advice = "check the certificate authority and the name"
            raise Unreachable(f"no connection to {where}: its certificate is not trusted ({why}); {advice}") from error
        except aiohttp.ClientConnectorError as error:
            raise Unreachable(f"no connection to {where}: {error.os_error}") from error
        except aiohttp.ConnectionTimeoutError:
            raise Unreachable(f"no connection to {where} within {seconds:.3g} seconds") from None
        except TimeoutError:
            raise OutcomeUnknown(f"no response within {seconds:.3g} seconds") from None
        except (aiohttp.ClientError, OSError) as error:
            raise OutcomeUnknown(f"the connection was closed before the response was complete ({error})") from error


async def _sent(
    client: ApiClient,
    verb: str,
    path: str,
    query: Mapping[str, str],
    body: Mapping[str, Any] | None = None,
    *,
    limits: aiohttp.ClientTimeout,
) -> aiohttp.ClientResponse:
    """Send a request and return the start of its response; ApiError if that is an error."""
    headers = {"Accept": JSON, "Accept-Encoding": "identity"}  # compression would cost more than the network
    headers["Content-Type"] = MERGE_PATCH if verb == "PATCH" else JSON
    request = await client.param_serialize(
        verb, path, query_params=list(query.items()), header_params=headers, body=body, auth_settings=["BearerToken"]
    )
    response: aiohttp.ClientResponse = (await client.call_api(*request, _request_timeout=limits)).response
    if response.status < 300:
        return response
    why = b""
    with suppress(aiohttp.ClientError, TimeoutError):  # only the status is needed; the text is optional
        why = await _read(response, _LARGEST_REFUSAL)
    response.close()
    raise api_error(response.status, why, _retry_after(response.headers))


async def _read(response: aiohttp.ClientResponse, most: int) -> bytes:
    found = bytearray()
    async for piece in response.content.iter_any():
        found += piece
        if len(found) >= most:
            break
    return bytes(found[:most])


def _retry_after(headers: Mapping[str, str]) -> float | None:
    said = headers.get("Retry-After", "")
    return float(said) if said.isdecimal() else None
