"""One connection, whatever bytes come on it: an answer or a known error, at once, and never anything else."""

import asyncio
import socket
from asyncio import sslproto
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.cluster.transport.api_errors import OutcomeUnknown
from pilotage.cluster.transport.http_connection import Answer, HttpConnection
from pilotage.listening.tls_protocol import TlsProtocol

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
BEGINNINGS = [b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", OK[:-1], OK]


async def exchanged(pieces: list[bytes], link: socket.socket) -> tuple[Answer | OutcomeUnknown, HttpConnection]:
    """Say some pieces to a connection that has asked something, and then no more."""
    connection = HttpConnection(None, lambda _: None)
    transport = Mock(spec=asyncio.Transport)
    transport.get_extra_info.return_value = link
    connection.connection_made(transport)
    asking = asyncio.ensure_future(connection.exchange(b"", seconds=60, largest=100))
    await asyncio.sleep(0)
    for piece in pieces:
        if not transport.abort.called:
            connection.data_received(piece)
    if not transport.abort.called:
        connection.eof_received()
    connection.connection_lost(None)
    try:
        return await asyncio.wait_for(asking, 1), connection
    except OutcomeUnknown as error:
        return error, connection


@given(
    beginning=st.sampled_from(BEGINNINGS),
    pieces=st.lists(
        st.binary(max_size=50) | st.sampled_from([b"\r\n", b"5\r\n", b"hello", b"0\r\n\r\n", OK]), max_size=6
    ),
)
def test_whatever_comes_the_request_ends(beginning: bytes, pieces: list[bytes]) -> None:
    with socket.socket() as link:
        found, _ = asyncio.run(exchanged([beginning, *pieces], link))
    assert isinstance(found, Answer | OutcomeUnknown)


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        pytest.param([b"garbage\r\n"], "invalid response: this is not an HTTP/1.1 response", id="garbage"),
        pytest.param([OK[:30]], "in the middle of the response", id="half of an answer"),
        pytest.param([], "before a response came", id="nothing"),
        pytest.param([OK.replace(b": 2", b": 101")], "larger than 100 bytes", id="too much"),
    ],
)
async def test_why_there_is_no_answer(pieces: list[bytes], text: str) -> None:
    with socket.socket() as link:
        found, connection = await exchanged(pieces, link)
    assert isinstance(found, OutcomeUnknown)
    assert text in str(found)
    assert not connection.is_usable


async def test_a_body_is_not_kept_for_longer_than_its_reader_needs() -> None:
    with socket.socket() as link:
        found, connection = await exchanged([OK], link)
    assert isinstance(found, Answer)
    assert found.body == b"{}"
    assert not connection._parser.pieces


async def test_tls_takes_little_memory_on_our_connections_and_asyncio_is_as_it_was(serve: Any, client_of: Any) -> None:
    async def script(peer: Any) -> None:
        await peer.request()
        await peer.ok()
        await peer.until_closed()

    api = client_of(await serve(script))
    await api.get("/a")
    (connection,) = api._pool._all
    tls: Any = connection._transport._ssl_protocol
    assert len(tls._ssl_buffer) == 32 << 10
    assert type(tls) is TlsProtocol
    assert sslproto.SSLProtocol.max_size == 256 << 10
