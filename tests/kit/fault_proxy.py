"""A proxy before an API server that delays, cuts, repeats and falsifies answers as it is told.

scheduler ──TLS──► proxy ──TLS, as the same user──► API server
                     └── asks a plan about each request: what shall go wrong with it?
"""

import asyncio
import ssl
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from kit.http_bytes import LARGEST_HEAD, Message, pass_body_on, read_body, read_head, refusal
from localcluster import kubeconfig
from localcluster.record import Cluster

READY_SECONDS = 10.0
TROUBLES = (OSError, EOFError, asyncio.LimitOverrunError)


class Fault(StrEnum):
    """What can go wrong with a request."""

    CUT_BEFORE = "the connection is cut and the server never hears of it"
    CUT_AFTER = "the server did it, and the connection is cut instead of an answer"
    TRUNCATED = "the server did it, and half of the answer comes"
    TWICE = "the answer comes twice"
    GARBAGE = "something that is no HTTP follows the answer"
    REPLAYED = "the server is asked twice, and the second answer comes"
    FALSE_500 = "the server did it, and the answer says 500"
    FALSE_503 = "the server did it, and the answer says 503"
    FALSE_504 = "the server did it, and the answer says 504"
    TOO_MANY = "the server never hears of it, and the answer says 429"


FALSE_ANSWERS = {
    Fault.FALSE_500: refusal(500, "Internal Server Error", "something broke"),
    Fault.FALSE_503: refusal(503, "Service Unavailable", "nobody is there"),
    Fault.FALSE_504: refusal(504, "Gateway Timeout", "it took too long"),
    Fault.TOO_MANY: refusal(429, "Too Many Requests", "come again later", "Retry-After: 1"),
}


@dataclass(frozen=True, slots=True)
class Trouble:
    """What shall go wrong with one request: seconds before it is passed on, before it is answered, and a fault."""

    late: float = 0.0
    slow: float = 0.0
    fault: Fault | None = None


Plan = Callable[[str, str], Trouble | None]  # method and target -> what shall go wrong


def no_trouble(_method: str, _target: str) -> None:
    """Plan nothing."""


class FaultProxy:
    """A proxy in a thread of its own; `plan` can be replaced at any time.

    Without an identity of its own, the API server sees whoever the tokens of the clients are of.
    """

    def __init__(self, cluster: Cluster, identity: str = "scheduler") -> None:
        self.plan: Plan = no_trouble
        self.is_severed = False  # whoever connects is cut off
        self.done: Counter[str] = Counter()
        self.requests = 0
        self._cluster, self._identity = cluster, identity
        self._tasks: set[asyncio.Task[None]] = set()
        self._ours = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._ours.load_cert_chain(cluster.pki / "apiserver.crt", cluster.pki / "apiserver.key")
        self._theirs = ssl.create_default_context(cafile=cluster.pki / "ca.crt")
        if identity:
            self._theirs.load_cert_chain(cluster.pki / f"{identity}.crt", cluster.pki / f"{identity}.key")
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="fault proxy", daemon=True)
        self.port = 0

    @contextmanager
    def running(self) -> Iterator["FaultProxy"]:
        """Serve until the block ends."""
        self._thread.start()
        with closing(self._loop):
            asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(READY_SECONDS)
            try:
                yield self
            finally:
                asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(READY_SECONDS)
                self._loop.call_soon_threadsafe(self._loop.stop)
                self._thread.join()

    @property
    def server(self) -> str:
        """The address of this proxy."""
        return f"https://127.0.0.1:{self.port}"

    def kubeconfig(self, folder: Path) -> Path:
        """Write a kubeconfig that leads through this proxy."""
        path = folder / f"proxied-{self.port}.kubeconfig"
        kubeconfig.write(path, kubeconfig.document("proxied", self.server, self._cluster.pki, self._identity))
        return path

    def sever(self) -> None:
        """Cut every connection, and every new one, until mended."""
        self.is_severed = True
        self._loop.call_soon_threadsafe(self._cut_all)

    def mend(self) -> None:
        """Let connections live again."""
        self.is_severed = False

    async def _start(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, ssl=self._ours, limit=LARGEST_HEAD)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _stop(self) -> None:
        self._server.close()
        self._cut_all()
        while self._tasks:
            await asyncio.wait(set(self._tasks))

    def _cut_all(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            if not self.is_severed:
                await self._serve(reader, writer)
        except TROUBLES:
            pass
        except asyncio.CancelledError:
            # It was cut off on purpose; asyncio would report the cancellation of its own task as a fault.
            task.uncancel()
        finally:
            self._tasks.discard(task)
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass requests on, one after the other, on a connection that belongs to this client alone."""
        host, port = self._cluster.host, self._cluster.ports.api
        opened = await asyncio.open_connection(host, port, ssl=self._theirs, limit=LARGEST_HEAD)
        try:
            while (request := await read_head(reader)) is not None:
                await _Exchange(self, request, await read_body(reader, request), writer, *opened).run()
        finally:
            opened[1].transport.abort()

    def note(self, what: str) -> None:
        """Take note of something that was done wrong on purpose."""
        self.done[what] += 1


class _Exchange:
    """One request and its answer, or what is made of it."""

    def __init__(
        self,
        proxy: FaultProxy,
        request: Message,
        body: bytes,
        client: asyncio.StreamWriter,
        answers: asyncio.StreamReader,
        server: asyncio.StreamWriter,
    ) -> None:
        self._proxy, self._request, self._body = proxy, request, body
        self._client, self._answers, self._server = client, answers, server

    async def run(self) -> None:
        """Do what the plan says."""
        self._proxy.requests += 1
        trouble = self._proxy.plan(self._request.first[0], self._request.first[1])
        if trouble is None:
            await self._forward()
            await self._pass_answer_on()
            return
        await asyncio.sleep(trouble.late)
        if trouble.fault in (Fault.CUT_BEFORE, Fault.TOO_MANY):
            await self._refuse(trouble.fault)
            return
        # Both at once: a second request that waits for its turn here would count as a late one of the scheduler.
        await self._forward(times=2 if trouble.fault is Fault.REPLAYED else 1)
        if trouble.fault is None and not trouble.slow:
            self._proxy.note("late")
            await self._pass_answer_on()
            return
        answer = await self._whole_answer()
        if trouble.fault is Fault.REPLAYED:
            answer = await self._whole_answer()
        await asyncio.sleep(trouble.slow)
        await self._answer(answer, trouble.fault)

    async def _forward(self, times: int = 1) -> None:
        self._server.write((self._request.head + self._body) * times)
        await self._server.drain()

    async def _pass_answer_on(self) -> None:
        answer = await self._answer_head()
        self._client.write(answer.head)
        await pass_body_on(self._answers, answer, self._client)

    async def _whole_answer(self) -> bytes:
        answer = await self._answer_head()
        return answer.head + await read_body(self._answers, answer)

    async def _answer_head(self) -> Message:
        answer = await read_head(self._answers)
        if answer is None:
            raise ConnectionResetError("the server closed the connection")
        return answer

    async def _refuse(self, fault: Fault) -> None:
        self._proxy.note(fault.name)
        if fault is Fault.CUT_BEFORE:
            raise ConnectionAbortedError
        await self._send(FALSE_ANSWERS[fault])

    async def _answer(self, answer: bytes, fault: Fault | None) -> None:
        self._proxy.note("slow" if fault is None else fault.name)
        match fault:
            case Fault.CUT_AFTER:
                raise ConnectionAbortedError
            case Fault.TRUNCATED:
                await self._send(answer[: len(answer) - 20])
                self._client.close()
                with suppress(*TROUBLES):
                    await self._client.wait_closed()
                raise ConnectionAbortedError
            case Fault.TWICE:
                answer += answer
            case Fault.GARBAGE:
                answer += b"\x00 this is no HTTP\r\n"
            case Fault.FALSE_500 | Fault.FALSE_503 | Fault.FALSE_504:
                answer = FALSE_ANSWERS[fault]
        await self._send(answer)

    async def _send(self, data: bytes) -> None:
        self._client.write(data)
        await self._client.drain()
