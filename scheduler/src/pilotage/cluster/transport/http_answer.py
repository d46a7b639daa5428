"""Parses HTTP/1.1 responses as they arrive, with httptools and further checks."""

from httptools import HttpParserError, HttpResponseParser

LARGEST_HEAD = 32 << 10  # bytes; also of trailers, and of a line between two chunks
_FRAME_OF_PIECE = 4 << 10  # bytes of framing for each piece of a body
_LARGEST_LENGTH = 10**15
_MOST_INTERIM = 10
_LONGEST_DELAY = 6  # digits

# The only relevant headers; httptools handles "connection".
_READ = frozenset({b"content-length", b"transfer-encoding", b"content-encoding", b"retry-after"})


class Irregular(Exception):
    """The bytes are not an acceptable response; the connection can no longer be used."""


class AnswerParser:
    """The expected response on a connection: its status, and the parts of its body that have arrived."""

    __slots__ = (
        "_counted",
        "_ends_with_connection",
        "_fields",
        "_frame",
        "_interim",
        "_largest",
        "_parser",
        "has_begun",
        "is_complete",
        "keeps_open",
        "pieces",
        "retry_after",
        "status",
    )

    def __init__(self, largest: int | None) -> None:
        self._parser = HttpResponseParser(self)
        self.expect(largest)

    def expect(self, largest: int | None) -> None:
        """Start the next response, once the previous one is complete."""
        self.status = 0  # 0: unknown yet
        self.retry_after: float | None = None
        self.keeps_open = True
        self.pieces: list[bytes] = []
        self.has_begun = False  # whether any byte has arrived
        self.is_complete = False
        self._largest = largest
        self._counted = 0  # bytes of the body
        self._frame = 0  # other bytes, since the last piece of the body
        self._interim = 0
        self._ends_with_connection = False
        self._fields: dict[bytes, bytes] = {}

    def close(self) -> None:
        """Stop parsing, and break the reference cycle, which only garbage collection would free."""
        del self._parser

    def feed(self, data: bytes) -> None:
        """Parse the next bytes, split anywhere; Irregular if they are invalid."""
        self.has_begun = True
        pieces, counted = len(self.pieces), self._counted
        try:
            self._parser.feed_data(data)
        except HttpParserError as error:
            if not self.is_complete:
                raise self._refusal(error) from None
            # No further response was requested.
            self.keeps_open = False
            return
        pieces = len(self.pieces) - pieces
        self._frame += len(data) - (self._counted - counted)
        if self._frame > LARGEST_HEAD + pieces * _FRAME_OF_PIECE:
            what = "the data between chunks is" if self.status else "the headers are"
            raise Irregular(f"{what} larger than {LARGEST_HEAD} bytes")
        if pieces:
            self._frame = 0

    def taken(self) -> bytes:
        """Return the parts that have arrived, and clear the buffer."""
        data = b"".join(self.pieces)
        self.pieces.clear()
        return data

    def end(self) -> bool:
        """Record the end of the stream, and return whether the response is complete."""
        if self._ends_with_connection:
            self.is_complete = True
        return self.is_complete

    def _refusal(self, error: HttpParserError) -> Irregular:
        if isinstance(error.__context__, Irregular):
            return error.__context__
        what = "a chunk is malformed" if self.status else "this is not an HTTP/1.1 response"
        return Irregular(f"{what}: {error}")

    # Called by httptools. An exception here ends the parsing, and becomes the context of its error.

    def on_message_begin(self) -> None:
        """Accept a response, if one is expected."""
        if self.is_complete:
            raise Irregular("an unexpected second response arrived")

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a relevant header; trailers are ignored."""
        name = name.lower()
        if name not in _READ or self.status:
            return
        if name in self._fields:
            raise Irregular(f"{name.decode()} occurs twice")
        self._fields[name] = value.rstrip(b" \t").lower()

    def on_headers_complete(self) -> None:
        """Record the status and the headers, unless it is an informational response."""
        status = self._parser.get_status_code()
        if not 100 <= status <= 599:
            raise Irregular(f"{status} is not a status")
        if status < 200:
            self._pass_interim(status)
            return
        self.status = status
        self.keeps_open = self._parser.should_keep_alive()
        self._read_fields(self._fields)

    def on_body(self, piece: bytes) -> None:
        """Add a part of the body."""
        self._counted += len(piece)
        self._check(self._counted)
        self.pieces.append(piece)

    def on_message_complete(self) -> None:
        """Record the end."""
        self.is_complete = self.status != 0

    def _pass_interim(self, status: int) -> None:
        self._interim += 1
        self._fields.clear()
        if status == 101:
            raise Irregular("101 was not requested")
        if self._interim > _MOST_INTERIM:
            raise Irregular(f"the response starts with too many {status} responses")

    def _read_fields(self, fields: dict[bytes, bytes]) -> None:
        if fields.get(b"content-encoding", b"identity") != b"identity":
            raise Irregular("the body is compressed, which was not requested")
        seconds = fields.get(b"retry-after", b"")
        if seconds.isdigit() and len(seconds) <= _LONGEST_DELAY:
            self.retry_after = float(seconds)
        length, coding = fields.get(b"content-length"), fields.get(b"transfer-encoding")
        if coding is not None and (coding != b"chunked" or self._parser.get_http_version() == "1.0"):
            raise Irregular("the length of the body is ambiguous")
        if self.status in {204, 304}:
            return
        if length is not None:
            self._check(int(length))
        self._ends_with_connection = length is None and coding is None

    def _check(self, size: int) -> None:
        largest = _LARGEST_LENGTH if self._largest is None else self._largest
        if size > largest:
            raise Irregular(f"the response is larger than {largest} bytes")
