"""Requests to an extender or another service, with limits on time, size and number."""

import asyncio
import io
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import monotonic

import aiohttp

from pilotage.model.extender_messages import ExtenderFailed
from pilotage.model.redaction import without_password

# A response with names and reasons for 15,000 nodes is smaller than this. It may also repeat the nodes of the request,
# whose size is added to the limit.
LARGEST_ANSWER = 16 * 1024 * 1024
CHUNK = 64 * 1024
CALLS_AT_ONCE = 16  # to one extender: a slow one must not accumulate sockets
FAILURES_IN_A_ROW = 5  # after which an extender is only tried occasionally
PAUSE = 1.0  # seconds between these tries
JSON = {"Content-Type": "application/json"}


@dataclass(frozen=True)
class Question:
    """One request."""

    method: str
    url: str
    verb: str
    headers: Mapping[str, str]
    body: bytes = b""
    query: Mapping[str, str] | None = None

    def __str__(self) -> str:
        return f'{self.method} "{self.safe_url}"'

    @property
    def safe_url(self) -> str:
        """Return the address without secrets."""
        return without_password(self.url)


class Transport:
    """Sends requests to one extender, or to another HTTP service."""

    def __init__(
        self,
        url_prefix: str,
        timeout: float,
        context: ssl.SSLContext | None = None,
        *,
        server_name: str = "",
        largest_answer: int = LARGEST_ANSWER,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._prefix = url_prefix.rstrip("/")
        self._timeout = timeout
        self._context = context
        self._server_name = server_name or None
        self._largest_answer = largest_answer
        self._session: aiohttp.ClientSession | None = None
        self._slots = asyncio.Semaphore(CALLS_AT_ONCE)
        self._breaker = Breaker(clock)

    async def post(self, verb: str, body: bytes) -> bytes:
        """Return the response; ExtenderFailed after a time-out, or if it is too large or not a 200."""
        question = Question("Post", f"{self._prefix}/{verb}", verb, JSON, body)
        answer = await self._ask(question)
        if isinstance(answer, int):
            raise ExtenderFailed(f"failed {verb} with extender at URL {question.safe_url}, code {answer}")
        return answer

    async def get(self, path: str, query: Mapping[str, str], headers: Mapping[str, str]) -> bytes:
        """Return the response to a GET, with the same limits; errors never contain headers."""
        question = Question("Get", f"{self._prefix}/{path}", path, headers, query=query)
        answer = await self._ask(question)
        if isinstance(answer, int):
            raise ExtenderFailed(f"{question}: code {answer}")
        return answer

    async def _ask(self, question: "Question") -> bytes | int:
        """Return the response, or the status if it is not 200."""
        if not self._breaker.admits():
            raise ExtenderFailed(f"{self._breaker.error} (and {self._breaker.failures - 1} times before in a row)")
        try:
            async with asyncio.timeout(self._timeout):
                await self._slots.acquire()
        except TimeoutError:
            raise ExtenderFailed(f"{question}: {CALLS_AT_ONCE} other requests wait for this extender") from None
        try:
            answer = await self._send(question)
        except Unanswered as error:
            self._breaker.failed(str(error))
            raise
        else:
            self._breaker.worked()
        finally:
            self._slots.release()
        return answer

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()

    async def _send(self, question: "Question") -> bytes | int:
        late = "exceeded while awaiting headers"
        try:
            async with self._open().request(
                question.method.upper(),
                question.url,
                params=question.query,
                data=io.BytesIO(question.body) if question.body else None,
                headers={**question.headers, "Accept-Encoding": "identity"},
                allow_redirects=False,  # a redirect could point anywhere
                server_hostname=self._server_name,
            ) as response:
                if response.status != 200:
                    return response.status
                late = "or context cancellation while reading body"
                return await self._read(response, question)
        except TimeoutError:
            raise Unanswered(f"{question}: context deadline exceeded (Client.Timeout {late})") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise Unanswered(f"{question}: {without_password(_told(error))}") from error

    async def _read(self, response: aiohttp.ClientResponse, question: "Question") -> bytes:
        chunks, size, most = [], 0, self._largest_answer + len(question.body)
        async for chunk in response.content.iter_chunked(CHUNK):
            size += len(chunk)
            if size > most:
                response.close()  # the rest is discarded
                at = f"failed {question.verb} with extender at URL {question.safe_url}" if question.body else question
                raise Unanswered(f"{at}: the response is larger than {most} bytes")
            chunks.append(chunk)
        return b"".join(chunks)

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=CALLS_AT_ONCE, ssl=self._context or True),
                timeout=aiohttp.ClientTimeout(total=self._timeout),
                auto_decompress=False,  # not requested: a small response must not expand to a large one
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._session


class Unanswered(ExtenderFailed):
    """There was no usable response."""


class Breaker:
    """A circuit breaker: while an extender is down, most requests fail immediately instead of after a time-out."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.failures = 0
        self.error = ""
        self._clock = clock
        self._last_try = 0.0

    def admits(self) -> bool:
        """Return whether to try: always while it works, otherwise occasionally."""
        if self.failures < FAILURES_IN_A_ROW:
            return True
        if self._clock() - self._last_try < PAUSE:
            return False
        self._last_try = self._clock()
        return True

    def worked(self) -> None:
        """Record a response of any kind."""
        self.failures = 0

    def failed(self, error: str) -> None:
        """Record that there was no response."""
        self.failures += 1
        self.error = error
        self._last_try = self._clock()


def _told(error: Exception) -> str:
    """Return kube-scheduler's message for a common error."""
    cause = getattr(error, "os_error", error)
    if isinstance(error, aiohttp.ClientConnectorError) and isinstance(cause, ConnectionRefusedError):
        return f"dial tcp {error.host}:{error.port}: connect: connection refused"
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "EOF"
    return str(error) or type(error).__name__
