"""An API server that answers as it is told and remembers what it was asked."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine
from inspect import isawaitable
from typing import Any, NamedTuple, TypeVar

import looptime
import pytest

from pilotage.cluster.transport.api_errors import ApiError, Withheld

T = TypeVar("T")


class Call(NamedTuple):
    at: float
    verb: str
    path: str
    body: Any


class FakeApi:
    """Answers calls in order; what is no error or text is asked for one, and after the last answer all is well.

    `seconds_until_sent` is how long a write waits for a connection.
    """

    def __init__(self, *answers: Any, seconds_until_sent: float = 0.0) -> None:
        self.answers = list(answers)
        self.seconds_until_sent = seconds_until_sent
        self.calls: list[Call] = []

    @property
    def verbs(self) -> list[str]:
        return [call.verb for call in self.calls]

    @property
    def times(self) -> list[float]:
        return [call.at for call in self.calls]

    async def get(self, path: str, *, accept: str = "") -> bytes:
        return await self._answer("GET", path, b"null")

    async def post(self, path: str, body: bytes, *, may_send: Callable[[], bool] | None = None) -> bytes:
        await self._until_sent(may_send)
        return await self._answer("POST", path, body)

    async def patch(
        self, path: str, body: bytes, *, content_type: str = "", may_send: Callable[[], bool] | None = None
    ) -> bytes:
        await self._until_sent(may_send)
        return await self._answer("PATCH", path, body)

    async def put(
        self, path: str, body: bytes, *, content_type: str = "", may_send: Callable[[], bool] | None = None
    ) -> bytes:
        await self._until_sent(may_send)
        return await self._answer("PUT", path, body)

    async def delete(self, path: str, body: bytes, *, may_send: Callable[[], bool] | None = None) -> bytes:
        await self._until_sent(may_send)
        return await self._answer("DELETE", path, body)

    async def _until_sent(self, may_send: Callable[[], bool] | None) -> None:
        if self.seconds_until_sent:
            await asyncio.sleep(self.seconds_until_sent)
        if may_send is not None and not may_send():
            raise Withheld

    async def _answer(self, verb: str, path: str, body: bytes) -> bytes:
        call = Call(asyncio.get_running_loop().time(), verb, path, json.loads(body))
        self.calls.append(call)
        answer = self.answers.pop(0) if self.answers else {"metadata": {}}
        if callable(answer):
            answer = answer(call)
        if isawaitable(answer):
            answer = await answer
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, bytes) else json.dumps(answer).encode()


def _refusal(status: int, message: str = "no", retry_after: float | None = None) -> ApiError:
    return ApiError(status, reason="", message=message, retry_after=retry_after, body=b"")


def _run_virtually(main: Callable[[], Coroutine[Any, Any, T]]) -> T:
    with asyncio.Runner(loop_factory=lambda: looptime.new_event_loop(start=0, noop_cycles=0)) as runner:
        return runner.run(main())


async def _while_running(worker: Any, wait: Awaitable[T]) -> T:
    """Wait for something while a worker runs."""
    running = asyncio.ensure_future(worker.run())
    try:
        return await wait
    finally:
        running.cancel()
        await asyncio.wait([running])


@pytest.fixture(scope="session")
def fake_api() -> type[FakeApi]:
    return FakeApi


@pytest.fixture(scope="session")
def refusal() -> Callable[..., ApiError]:
    return _refusal


@pytest.fixture(scope="session")
def run_virtually() -> Callable[..., Any]:
    return _run_virtually


@pytest.fixture(scope="session")
def while_running() -> Callable[..., Any]:
    return _while_running
