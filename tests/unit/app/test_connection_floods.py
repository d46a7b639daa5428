"""A neighbour who holds as many connections as it can: the node's probes of the real process get their answers.

The neighbour comes from an address of its own on the loopback device. How long answers take is printed and not judged,
but for a bound far beyond what a kubelet waits.
"""

import asyncio
import resource
import ssl
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from kit.looking_glass import free_port
from kit.small_api import small_api

PROGRAM = Path(sys.executable).with_name("pilotage")
KUBELET, NEIGHBOUR = "127.0.0.1", "127.0.0.2"
PATIENCE = 60.0  # seconds
PROBES = 10
MOST_OF_ONE_PEER = 32
MOST_MEMORY = 48 << 20  # that all of a flood may cost
ESTABLISHED = "01"

Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def trusting() -> ssl.SSLContext:
    """Ask for no certificate, as a kubelet does not that probes."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


@dataclass
class Scheduler:
    """A real process, seen from outside."""

    port: int
    process: asyncio.subprocess.Process
    neighbours: list[asyncio.StreamWriter] = field(default_factory=list)

    async def probe(self) -> float:
        """Ask as a kubelet does, by a connection of its own; returns how long the answer took."""
        started = time.monotonic()
        async with asyncio.timeout(PATIENCE):
            reader, writer = await asyncio.open_connection(KUBELET, self.port, ssl=trusting())
            writer.write(b"GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            answer = await reader.read()
            writer.close()
        assert answer.startswith(b"HTTP/1.1 200 "), answer
        return time.monotonic() - started

    async def visit(self, words: bytes | None, secure: bool = True) -> None:
        """Connect as the neighbour and say something, or nothing; who is turned away or cut off does not mind."""
        trust = trusting() if secure else None
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(PATIENCE):
                _, writer = await asyncio.open_connection(
                    KUBELET, self.port, ssl=trust, local_addr=(NEIGHBOUR, 0), ssl_handshake_timeout=None
                )
            self.neighbours.append(writer)
            writer.write(words or b"")

    def hang_up(self) -> None:
        """Let the neighbour go."""
        for writer in self.neighbours:
            writer.transport.abort()
        self.neighbours.clear()

    def held(self) -> int:
        """Return how many connections of the neighbour the process has, or the kernel holds for it."""
        ours, theirs = (_as_the_kernel_writes(*place) for place in ((KUBELET, self.port), (NEIGHBOUR, None)))
        lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        return sum(line[1] == ours and line[2].startswith(theirs) and line[3] == ESTABLISHED for line in lines)

    def memory(self) -> int:
        """Return how many bytes it has in memory."""
        return int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * resource.getpagesize()


def _as_the_kernel_writes(address: str, port: int | None) -> str:
    host = "".join(f"{int(part):02X}" for part in reversed(address.split(".")))
    return host + (":" if port is None else f":{port:04X}")


@asynccontextmanager
async def running() -> AsyncIterator[Scheduler]:
    """Run a scheduler as a process of its own until the block ends."""
    port = free_port()
    async with small_api() as api:
        words = [f"--master={api.url}", "--leader-elect=false", f"--bind-address={KUBELET}", f"--secure-port={port}"]
        process = await asyncio.create_subprocess_exec(PROGRAM, "run", *words, "--authentication-skip-lookup")
        scheduler = Scheduler(port, process)
        try:
            await _until_it_answers(scheduler)
            yield scheduler
        finally:
            scheduler.hang_up()
            process.terminate()
            await process.wait()


async def _until_it_answers(scheduler: Scheduler) -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            with suppress(OSError):
                await scheduler.probe()
                return
            await asyncio.sleep(0.1)


@pytest.fixture(autouse=True)
def many_files() -> None:
    """Let this process hold as many connections as it may."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


async def idle(scheduler: Scheduler) -> None:
    for _ in range(10):
        await asyncio.gather(*(scheduler.visit(None) for _ in range(50)))


async def half_open(scheduler: Scheduler) -> None:
    for _ in range(30):
        await asyncio.gather(*(scheduler.visit(None, secure=False) for _ in range(100)))


async def hello_and_no_more(scheduler: Scheduler) -> None:
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    with suppress(ssl.SSLWantReadError):
        trusting().wrap_bio(incoming, outgoing).do_handshake()
    hello = outgoing.read()
    for _ in range(30):
        await asyncio.gather(*(scheduler.visit(hello, secure=False) for _ in range(100)))


async def slow_headers(scheduler: Scheduler) -> None:
    await asyncio.gather(*(scheduler.visit(b"GET /livez HTTP/1.1\r\nX-Slow: ") for _ in range(200)))


async def slow_bodies(scheduler: Scheduler) -> None:
    request = b"PUT /debug/flags/v HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n1"
    await asyncio.gather(*(scheduler.visit(request) for _ in range(200)))


async def strangers(scheduler: Scheduler) -> None:
    request = b"GET /metrics HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer nobody\r\n\r\n"
    await asyncio.gather(*(scheduler.visit(request * 5) for _ in range(200)))


FLOODS: dict[str, Callable[[Scheduler], Coroutine[Any, Any, None]]] = {
    "500 connections that ask nothing": idle,
    "3,000 that never begin the handshake": half_open,
    "3,000 that never finish the handshake": hello_and_no_more,
    "200 that never finish the headers": slow_headers,
    "200 that never finish the body": slow_bodies,
    "200 with a token that nobody knows": strangers,
}


async def settled(scheduler: Scheduler) -> int:
    """Return how many connections are held, once the busy machine has closed those that were refused."""
    for _ in range(100):
        if scheduler.held() <= MOST_OF_ONE_PEER:
            break
        await asyncio.sleep(0.1)
    return scheduler.held()


async def test_probes_are_answered() -> None:
    async with running() as scheduler:
        before = scheduler.memory()
        for name, flood in FLOODS.items():
            flooding = asyncio.create_task(flood(scheduler))
            during = [await scheduler.probe() for _ in range(PROBES)]
            await flooding
            after = [await scheduler.probe() for _ in range(PROBES)]
            grown, held = scheduler.memory() - before, await settled(scheduler)
            print(f"\n{name}: probes took up to {max(during):.3f} s during and {max(after):.3f} s after it;", end=" ")
            print(f"{grown / 1e6:.0f} MB more than at the start; {held} connections held", end="")
            assert held <= MOST_OF_ONE_PEER, name
            assert grown < MOST_MEMORY, name
            scheduler.hang_up()
