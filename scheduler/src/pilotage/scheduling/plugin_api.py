"""The API client for plugins: plain data, time-outs, and no outdated writes."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Protocol

import msgspec

from pilotage.cluster.transport.api_calls import MaySend
from pilotage.cluster.transport.api_client import STRATEGIC_MERGE_PATCH
from pilotage.cluster.transport.api_errors import ApiError, Withheld
from pilotage.cluster.watch.fair_turns import FairTurns
from pilotage.cluster.write.write_retries import FAILURES, PASSING, with_retries, words_of
from pilotage.framework.api.handle import JSON, ApiFailed, NotAllowed
from pilotage.model.pod import Pod

MERGE_PATCH = "application/merge-patch+json"
MOST_WRITES = 16  # concurrent: half of the connections, so that other binds do not wait for them
NOT_ALLOWED = "not written: this scheduler is not the leader, or the pod or node no longer exists"


class Client(Protocol):
    """Requests with a last check before they are sent."""

    async def get(self, path: str, *, accept: str = JSON) -> bytes:
        """Return an object."""

    async def post(self, path: str, body: bytes, *, may_send: MaySend) -> bytes:
        """Create an object."""

    async def put(self, path: str, body: bytes, *, content_type: str, may_send: MaySend) -> bytes:
        """Replace an object, and return the result."""

    async def delete(self, path: str, body: bytes, *, may_send: MaySend) -> bytes:
        """Delete an object."""

    async def patch(self, path: str, body: bytes, *, content_type: str, may_send: MaySend) -> bytes:
        """Change an object, and return the result."""


class PluginApi:
    """Requests of all plugins; `may_write` is called right before every write."""

    def __init__(
        self,
        client: Client,
        may_write: Callable[[Pod | None, str], bool],
        bind: Callable[[Pod, str], Awaitable[None]],
    ) -> None:
        self._client = client
        self._may_write = may_write
        self._bind = bind
        self._turns = FairTurns(MOST_WRITES)

    async def get(self, path: str) -> Any:
        """Return an object or a list."""
        return await _answer(lambda: self._client.get(path))

    async def get_bytes(self, path: str, content_type: str) -> bytes:
        """Return an object in another encoding than JSON."""
        return await _bytes(lambda: self._client.get(path, accept=content_type))

    async def post(self, path: str, body: Mapping[str, Any], *, pod: Pod | None = None, node: str = "") -> Any:
        """Create an object."""
        may_send = partial(self._may_write, pod, node)
        async with self._turns.of("" if pod is None else pod.namespace):
            return await _answer(partial(self._client.post, path, msgspec.json.encode(body), may_send=may_send))

    async def patch(
        self, path: str, body: Mapping[str, Any], *, pod: Pod | None = None, node: str = "", strategic: bool = False
    ) -> Any:
        """Change an object, and return the result.

        A conflict is not retried, since the decision is out of date then.
        """
        attempt = partial(
            self._client.patch,
            path,
            msgspec.json.encode(body),
            content_type=STRATEGIC_MERGE_PATCH if strategic else MERGE_PATCH,
            may_send=partial(self._may_write, pod, node),
        )
        async with self._turns.of("" if pod is None else pod.namespace):
            return await _answer(lambda: with_retries(attempt, PASSING))

    async def put(
        self,
        path: str,
        body: Mapping[str, Any] | bytes,
        *,
        content_type: str = JSON,
        pod: Pod | None = None,
        node: str = "",
    ) -> Any:
        """Replace an object, and return the result; a conflict is not retried."""
        encoded = body if isinstance(body, bytes) else msgspec.json.encode(body)
        may_send = partial(self._may_write, pod, node)
        attempt = partial(self._client.put, path, encoded, content_type=content_type, may_send=may_send)
        async with self._turns.of("" if pod is None else pod.namespace):
            return await _answer(lambda: with_retries(attempt, PASSING))

    async def delete(self, path: str, body: Mapping[str, Any], *, pod: Pod | None = None, node: str = "") -> Any:
        """Delete an object."""
        may_send = partial(self._may_write, pod, node)
        attempt = partial(self._client.delete, path, msgspec.json.encode(body), may_send=may_send)
        async with self._turns.of("" if pod is None else pod.namespace):
            return await _answer(lambda: with_retries(attempt, PASSING))

    async def bind(self, pod: Pod, node: str) -> None:
        """Bind a pod, and return only when the bind is confirmed."""
        await self._bind(pod, node)


async def _answer(ask: Callable[[], Awaitable[bytes]]) -> Any:
    answer = await _bytes(ask)
    return msgspec.json.decode(answer) if answer else None


async def _bytes(ask: Callable[[], Awaitable[bytes]]) -> bytes:
    try:
        return await ask()
    except FAILURES as failure:
        raise ApiFailed(words_of(failure), failure.status if isinstance(failure, ApiError) else 0) from failure
    except Withheld as failure:
        raise NotAllowed(NOT_ALLOWED) from failure
