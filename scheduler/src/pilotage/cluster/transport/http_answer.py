"""HTTP/1.1 answers, taken apart as they come in pieces: strictly, within limits, and without any input of its own."""

import re
from collections.abc import Callable

LARGEST_HEAD = 32 << 10
_LONGEST_CHUNK_LINE = 4 << 10
_MOST_INTERIM = 10

_TEXT = rb"[\t\x20-\x7e\x80-\xff]"
_FIELD_LINE = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]++:" + _TEXT + rb"*+\r\n"
_HEAD = re.compile(rb"HTTP/1\.([01]) ([1-5][0-9][0-9])(?: " + _TEXT + rb"*+)?\r\n((?:" + _FIELD_LINE + rb")*+)\r\n")
_TRAILER = re.compile(_FIELD_LINE)
_CHUNK_LINE = re.compile(rb"([0-9a-fA-F]{1,15})[ \t]*(?:;" + _TEXT + rb"*)?\r\n")
# The only fields that we go by, in lower case: to ignore the case here would cost four times as much.
_FIELD = re.compile(
    rb"\n(content-length|transfer-encoding|content-encoding|connection|retry-after):[ \t]*([^\r]*)",
)
_LENGTH = re.compile(rb"[0-9]{1,15}")
_SECONDS = re.compile(rb"[0-9]{1,6}")
_BEGINNING = b"HTTP/1."


class Irregular(Exception):
    """The bytes are no answer that we accept; the connection they came on cannot be trusted any more."""


class AnswerParser:
    """One answer: its status, and the pieces of its body that have come so far."""

    __slots__ = (
        "_counted",
        "_interim",
        "_largest",
        "_left",
        "_rest",
        "_step",
        "is_complete",
        "keeps_open",
        "pieces",
        "retry_after",
        "status",
    )

    def __init__(self, largest: int | None) -> None:
        self.status = 0  # 0: not known yet
        self.retry_after: float | None = None
        self.keeps_open = True
        self.pieces: list[bytes] = []
        self.is_complete = False
        self._largest = largest
        self._counted = 0  # of the body, or of the trailers once they begin
        self._left = 0  # of the counted body, or of the chunk
        self._interim = 0
        self._rest = b""
        # A plain function: a bound method would make a ring of references with every answer.
        self._step: Callable[[AnswerParser, bytes], bytes] = AnswerParser._read_head

    @property
    def has_begun(self) -> bool:
        """Whether any byte has come."""
        return bool(self.status or self._rest or self._interim)

    def feed(self, data: bytes) -> None:
        """Take the next bytes in, however they were split; Irregular when they cannot be right."""
        if self._rest:
            data, self._rest = self._rest + data, b""
        while data and not self.is_complete:
            data = self._step(self, data)
        if data:
            # Nobody asked for more: what follows belongs to nothing.
            self.keeps_open = False

    def end(self) -> bool:
        """Take note that no more bytes come, and tell whether the answer is whole."""
        if self._step is AnswerParser._read_until_end:
            self.is_complete = True
        return self.is_complete

    # Each step returns the bytes that are left for the next one; one that needs more keeps them and returns none.

    def _read_head(self, data: bytes) -> bytes:
        if data[:7] != _BEGINNING[: len(data)]:
            raise Irregular("this is no answer in HTTP/1.1")
        end = data.find(b"\r\n\r\n") + 4
        if end > LARGEST_HEAD or (end < 4 and len(data) > LARGEST_HEAD):
            raise Irregular(f"the headers are larger than {LARGEST_HEAD} bytes")
        if end < 4:
            return self._keep(data)
        found = _HEAD.fullmatch(data, 0, end)
        if found is None:
            raise Irregular("the headers are malformed")
        status = int(found[2])
        if status >= 200:
            self.status = status
            self._read_fields(is_old=found[1] == b"0", fields=_fields(found[3]))
        else:
            self._pass_interim(status)
        return data[end:]

    def _pass_interim(self, status: int) -> None:
        self._interim += 1
        if status == 101 or self._interim > _MOST_INTERIM:
            raise Irregular(
                f"the answer begins with {status} over and over" if status != 101 else "101 was not asked for"
            )

    def _read_fields(self, *, is_old: bool, fields: dict[bytes, bytes]) -> None:
        connection = fields.get(b"connection")
        self.keeps_open = not is_old and (connection is None or b"close" not in _words(connection))
        if fields.get(b"content-encoding", b"identity") != b"identity":
            raise Irregular("the body is compressed, which was not asked for")
        seconds = fields.get(b"retry-after")
        if seconds is not None and _SECONDS.fullmatch(seconds):
            self.retry_after = float(seconds)
        length, coding = fields.get(b"content-length"), fields.get(b"transfer-encoding")
        if coding is not None and (coding != b"chunked" or length is not None or is_old):
            raise Irregular("it is unclear how long the body is")
        if self.status in {204, 304}:
            self.is_complete = True
        elif coding is not None:
            self._step = AnswerParser._read_chunk_line
        elif length is not None:
            self._expect(length)
        else:
            self.keeps_open = False
            self._step = AnswerParser._read_until_end

    def _expect(self, length: bytes) -> None:
        if not _LENGTH.fullmatch(length):
            raise Irregular("it is unclear how long the body is")
        self._left = int(length)
        self._count(self._left)
        self.is_complete = self._left == 0
        self._step = AnswerParser._read_counted

    def _read_counted(self, data: bytes) -> bytes:
        data = self._take(data)
        self.is_complete = self._left == 0
        return data

    def _read_until_end(self, data: bytes) -> bytes:
        self._count(len(data))
        self.pieces.append(data)
        return b""

    def _read_chunk_line(self, data: bytes) -> bytes:
        line, data = self._line(data)
        if not line:
            return data
        found = _CHUNK_LINE.fullmatch(line)
        if found is None:
            raise Irregular("a chunk is malformed")
        self._left = int(found[1], 16)
        self._count(self._left)
        if self._left:
            self._step = AnswerParser._read_chunk
        else:
            self._counted, self._largest = 0, LARGEST_HEAD
            self._step = AnswerParser._read_trailer
        return data

    def _read_chunk(self, data: bytes) -> bytes:
        data = self._take(data)
        if self._left == 0:
            self._step = AnswerParser._read_chunk_end
        return data

    def _read_chunk_end(self, data: bytes) -> bytes:
        if data[:2] != b"\r\n"[: len(data)]:
            raise Irregular("a chunk is longer than it said")
        if len(data) < 2:
            return self._keep(data)
        self._step = AnswerParser._read_chunk_line
        return data[2:]

    def _read_trailer(self, data: bytes) -> bytes:
        line, data = self._line(data)
        self._count(len(line))
        if line == b"\r\n":
            self.is_complete = True
        elif line and not _TRAILER.fullmatch(line):
            raise Irregular("a trailer is malformed")
        return data

    def _line(self, data: bytes) -> tuple[bytes, bytes]:
        end = data.find(b"\n", 0, _LONGEST_CHUNK_LINE) + 1
        if end:
            return data[:end], data[end:]
        if len(data) >= _LONGEST_CHUNK_LINE:
            raise Irregular("a line between chunks is too long")
        return b"", self._keep(data)

    def _take(self, data: bytes) -> bytes:
        piece = data[: self._left]
        self._left -= len(piece)
        self.pieces.append(piece)
        return data[len(piece) :]

    def _keep(self, data: bytes) -> bytes:
        self._rest = data
        return b""

    def _count(self, size: int) -> None:
        self._counted += size
        if self._largest is not None and self._counted > self._largest:
            raise Irregular(f"the answer is larger than {self._largest} bytes")


def _fields(lines: bytes) -> dict[bytes, bytes]:
    fields: dict[bytes, bytes] = {}
    for name, value in _FIELD.findall(b"\n" + lines.lower()):
        if name in fields and name != b"connection":
            raise Irregular(f"{name.decode()} is said twice")
        said = value.rstrip(b" \t")
        fields[name] = fields[name] + b"," + said if name in fields else said
    return fields


def _words(value: bytes) -> list[bytes]:
    return [word.strip() for word in value.split(b",")]
