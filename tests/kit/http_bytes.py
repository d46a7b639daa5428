"""HTTP/1.1 messages as the bytes they are, for a proxy that passes them on and sometimes does not."""

import asyncio
from dataclasses import dataclass

END_OF_HEAD = b"\r\n\r\n"
LARGEST_HEAD = 1 << 20


@dataclass(frozen=True, slots=True)
class Message:
    """A request or the beginning of an answer; `first` are the words of its first line."""

    first: tuple[str, ...]
    head: bytes
    headers: dict[str, str]

    @property
    def length(self) -> int | None:
        """The bytes of its body, None if that is not said."""
        return int(self.headers["content-length"]) if "content-length" in self.headers else None

    @property
    def is_chunked(self) -> bool:
        """Whether its body comes in pieces and ends with an empty one."""
        return self.headers.get("transfer-encoding") == "chunked"


async def read_head(reader: asyncio.StreamReader) -> Message | None:
    """Read up to the body; None where the peer has nothing more to say."""
    try:
        head = await reader.readuntil(END_OF_HEAD)
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").strip().split("\r\n")
    headers = dict(line.split(":", 1) for line in lines)
    return Message(tuple(first.split(" ", 2)), head, {key.lower(): value.strip() for key, value in headers.items()})


async def read_body(reader: asyncio.StreamReader, message: Message) -> bytes:
    """Read a body that ends, as it was sent."""
    if not message.is_chunked:
        return await reader.readexactly(message.length or 0)
    pieces: list[bytes] = []
    while not pieces or pieces[-1] != b"0\r\n\r\n":
        pieces.append(await read_chunk(reader))
    return b"".join(pieces)


async def read_chunk(reader: asyncio.StreamReader) -> bytes:
    """Read one piece of a body, with its length before and its line end after it."""
    size = await reader.readline()
    return size + await reader.readexactly(int(size.split(b";")[0], 16) + 2)


async def pass_body_on(reader: asyncio.StreamReader, message: Message, writer: asyncio.StreamWriter) -> None:
    """Pass a body on as it comes, also one that never ends."""
    if not message.is_chunked:
        writer.write(await read_body(reader, message))
        await writer.drain()
        return
    chunk = b""
    while chunk != b"0\r\n\r\n":
        chunk = await read_chunk(reader)
        writer.write(chunk)
        await writer.drain()


def refusal(status: int, reason: str, text: str, *headers: str) -> bytes:
    """Return an answer of the API server that says no."""
    body = f'{{"kind":"Status","apiVersion":"v1","status":"Failure","message":"{text}","code":{status}}}'
    lines = [f"HTTP/1.1 {status} {reason}", "Content-Type: application/json", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join([*lines, "", body]).encode()
