"""Real connections to a door: what is counted, who is hung up on, and what is left of them."""

import asyncio
import errno
import gc
import socket
import ssl
from asyncio.sslproto import SSLProtocol
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import pytest

from pilotage.listening import front_door
from pilotage.listening.front_door import FrontDoor, Patience
from pilotage.listening.tls_protocol import TlsProtocol
from pilotage.telemetry.serving_certificate import ServingCertificate, TlsSettings

PATIENCE = 60.0  # seconds until a test gives up
HELLO = bytes.fromhex("160301020001")  # how a handshake begins
FOR_EVER = Patience(first_request=3600, idle=3600)


class Echo(asyncio.Protocol):
    """Says what it hears."""

    transport: asyncio.Transport

    def __init__(self, made: "list[Echo] | None" = None) -> None:
        self._made = [] if made is None else made

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._made.append(self)

    def connection_lost(self, reason: Exception | None) -> None:
        self._made.remove(self)

    def data_received(self, data: bytes) -> None:
        self.transport.write(data)


def trusting() -> ssl.SSLContext:
    """Ask for no certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


@dataclass
class House:
    """A door, and those who came to it."""

    door: FrontDoor
    made: list[Echo] = field(default_factory=list)
    writers: list[asyncio.StreamWriter] = field(default_factory=list)

    async def come(self, words: bytes = b"", secure: bool = False) -> asyncio.StreamReader:
        reader, writer = await asyncio.open_connection(*self.door.address, ssl=trusting() if secure else None)
        self.writers.append(writer)
        writer.write(words)
        return reader

    async def holds(self, count: int) -> None:
        async with asyncio.timeout(PATIENCE):
            while self.door.connected != count:  # noqa: ASYNC110 - nobody tells a test
                await asyncio.sleep(0.01)


@asynccontextmanager
async def opened(patience: Patience = FOR_EVER, secure: bool = False) -> AsyncIterator[House]:
    """Open a door until the block ends."""
    made: list[Echo] = []
    context = ServingCertificate(TlsSettings()).context if secure else None
    house = House(FrontDoor(lambda: Echo(made), patience, context), made)
    await house.door.open("127.0.0.1", 0)
    try:
        yield house
    finally:
        for writer in house.writers:
            writer.transport.abort()
        house.door.close()
        for echo in made:
            echo.transport.abort()
        await house.holds(0)


async def cut(reader: asyncio.StreamReader) -> bool:
    async with asyncio.timeout(PATIENCE):
        with suppress(ConnectionError):
            return await reader.read() == b""
        return True


@pytest.mark.parametrize("secure", [False, True], ids=["plain", "with TLS"])
async def test_what_is_said_arrives_and_comes_back(secure: bool) -> None:
    async with opened(secure=secure) as house:
        reader = await house.come(b"hello", secure)
        assert await reader.readexactly(5) == b"hello"
        assert house.door.connected == 1
        house.writers[0].close()
        await house.holds(0)


@pytest.mark.parametrize(
    ("words", "secure"),
    [
        pytest.param(b"", False, id="who says nothing"),
        pytest.param(HELLO, False, id="who only begins a handshake"),
        pytest.param(b"", True, id="who finishes it and asks nothing"),
    ],
)
class TestHostileVisitors:
    async def test_their_time_is_short(self, words: bytes, secure: bool) -> None:
        async with opened(Patience(first_request=0.5, idle=3600), secure=True) as house:
            with suppress(ConnectionError):
                assert await cut(await house.come(words, secure))
            await house.holds(0)

    async def test_the_oldest_goes_for_the_next(self, words: bytes, secure: bool) -> None:
        async with opened(Patience(first_request=3600, connections_of_one_peer=2), secure=True) as house:
            readers = [await house.come(words, secure) for _ in range(3)]
            assert await cut(readers[0])
            await house.holds(2)

    async def test_nothing_is_left_of_them_for_a_collection_of_garbage(self, words: bytes, secure: bool) -> None:
        gc.collect()
        gc.disable()
        try:
            async with opened(Patience(first_request=3600, connections_of_one_peer=3), secure=True) as house:
                before = handshakes()
                readers = [await house.come(words, secure) for _ in range(20)]
                for reader in readers[:-3]:
                    assert await cut(reader)
                await house.holds(3)
                await asyncio.sleep(0)
                clients = 20 if secure else 0
                assert handshakes() - before <= 3 + clients
        finally:
            gc.enable()


def handshakes() -> int:
    """Return how many TLS connections this process has in memory."""
    return sum(isinstance(each, SSLProtocol) for each in gc.get_objects())


async def test_who_is_answered_has_all_the_time() -> None:
    async with opened(Patience(first_request=0.2, idle=0.2)) as house:
        reader = await house.come(b"hello")
        await reader.readexactly(5)
        (protocol,) = house.made
        with house.door.answering(protocol):
            await asyncio.sleep(0.6)
            assert house.door.connected == 1
        assert await cut(reader), "afterwards it is idle"
        with house.door.answering(protocol):
            pass  # somebody who left meanwhile is no surprise


async def test_one_peer_keeps_nobody_else_out() -> None:
    async with opened(Patience(connections=4, connections_of_one_peer=4, first_request=3600)) as house:
        for _ in range(8):
            await house.come()
        reader, writer = await asyncio.open_connection(*house.door.address, local_addr=("127.0.0.9", 0))
        house.writers.append(writer)
        for _ in range(8):
            await house.come()
        writer.write(b"probe")
        assert await reader.readexactly(5) == b"probe"


async def test_who_connects_again_and_again_waits_for_its_handshakes() -> None:
    patience = Patience(first_request=3600, connections_of_one_peer=2, handshakes_a_second=0.001)
    before = handshakes()
    async with opened(patience, secure=True) as house:
        for _ in range(2):
            await house.come(secure=True)
        readers = [await house.come(HELLO) for _ in range(3)]
        await house.holds(2)
        assert await cut(readers[0]), "it makes room, as any other"
        assert handshakes() - before <= 2, "the clients' own: none of the others was begun"
        reader, writer = await asyncio.open_connection(
            *house.door.address, ssl=trusting(), local_addr=("127.0.0.9", 0), server_hostname=""
        )
        house.writers.append(writer)
        writer.write(b"probe")
        assert await reader.readexactly(5) == b"probe", "which is nothing to others"


async def test_too_many_are_told_once(caplog: pytest.LogCaptureFixture) -> None:
    async with opened(Patience(connections_of_one_peer=1, first_request=3600)) as house:
        for _ in range(5):
            await house.come(b"x")
        await house.holds(1)
    assert [record.message for record in caplog.records] == [
        "too many connections, the last from 127.0.0.1: 1 were closed for others"
    ]


async def test_without_files_for_more_it_rests_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(front_door, "_OUT_OF_FILES_PAUSE", 0.05)
    listeners = scarce(monkeypatch, failures=2)
    async with opened() as house:
        reader = await house.come(b"hello")
        assert await reader.readexactly(5) == b"hello"
        assert listeners[0].failures == 0


def scarce(monkeypatch: pytest.MonkeyPatch, failures: int) -> list[Any]:
    """Let listeners find no free file at first."""
    made: list[Any] = []

    class Scarce(socket.socket):
        failures: int

        def accept(self) -> tuple[socket.socket, Any]:
            if self.failures:
                self.failures -= 1
                raise OSError(errno.EMFILE, "Too many open files")
            return super().accept()

    create: Callable[..., socket.socket] = socket.create_server

    def scarce_server(*arguments: Any, **named: Any) -> socket.socket:
        plain = create(*arguments, **named)
        scarce = Scarce(fileno=plain.detach())
        scarce.failures = failures
        made.append(scarce)
        return scarce

    monkeypatch.setattr(socket, "create_server", scarce_server)
    return made


async def test_every_address_and_a_port_that_is_taken() -> None:
    first, second = FrontDoor(Echo), FrontDoor(Echo)
    await first.open(None, 0)
    with pytest.raises(OSError, match="in use"):
        await second.open("127.0.0.1", first.address[1])
    first.close()
    await second.open("127.0.0.1", 0)
    second.close()


async def test_closing_hangs_up_on_who_is_connecting() -> None:
    async with opened(secure=True) as house:
        reader = await house.come(HELLO)
        await house.holds(1)
        house.door.close()
        assert await cut(reader)


async def test_tls_keeps_a_small_buffer_for_each_connection() -> None:
    async with opened(secure=True) as house:
        for _ in range(2):
            reader = await house.come(b"hello", secure=True)
            assert await reader.readexactly(5) == b"hello"
        found = [echo.transport._ssl_protocol for echo in house.made]  # type: ignore[attr-defined]
        assert [type(each) for each in found] == [TlsProtocol, TlsProtocol]
        assert all(len(each._ssl_buffer) == 32 << 10 for each in found)
