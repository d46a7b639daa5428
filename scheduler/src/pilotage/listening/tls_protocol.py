"""TLS on a connection, whichever end of it is ours, with no more memory than that takes."""

import asyncio
import ssl
from asyncio import sslproto
from collections.abc import Awaitable, Callable
from typing import Any

Open = Callable[[Callable[[], asyncio.BaseProtocol]], Awaitable[tuple[asyncio.Transport, asyncio.BaseProtocol]]]


class TlsProtocol(sslproto.SSLProtocol):
    """What asyncio puts between a transport and a protocol."""

    # asyncio holds 256 KiB for every connection, and takes as much again for a moment with every read; a record has 16.
    max_size = 32 << 10


async def opened(
    open_plain: Open, protocol: asyncio.BaseProtocol, context: ssl.SSLContext | None, **options: Any
) -> asyncio.Transport:
    """Open a connection for a protocol, and wait for its handshake if it has a context: as asyncio does with ssl=."""
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
