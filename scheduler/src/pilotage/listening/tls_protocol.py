"""TLS for connections of clients and servers, with little memory."""

import asyncio
import ssl
from asyncio import sslproto
from collections.abc import Awaitable, Callable
from typing import Any

Open = Callable[[Callable[[], asyncio.BaseProtocol]], Awaitable[tuple[asyncio.Transport, asyncio.BaseProtocol]]]


class TlsProtocol(sslproto.SSLProtocol):
    """asyncio's TLS layer between a transport and a protocol, with smaller buffers."""

    # asyncio keeps 256 KiB for every connection, and briefly allocates as much with every read; a record has 16 KiB.
    max_size = 32 << 10


async def opened(
    open_plain: Open, protocol: asyncio.BaseProtocol, context: ssl.SSLContext | None, **options: Any
) -> asyncio.Transport:
    """Open a connection for a protocol, with a TLS handshake if there is a context, like asyncio's ssl=."""
    if context is None:
        return (await open_plain(lambda: protocol))[0]
    loop = asyncio.get_running_loop()
    handshake: asyncio.Future[None] = loop.create_future()
    transport, _ = await open_plain(lambda: TlsProtocol(loop, protocol, context, handshake, **options))
    try:
        await handshake
    except BaseException:
        transport.abort()
        raise
    return transport
