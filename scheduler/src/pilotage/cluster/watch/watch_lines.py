"""Splits the chunks of a stream into lines."""

from typing import NamedTuple

# Bytes of JSON. etcd accepts requests of 1.5 MiB, or of 2 if configured, and JSON needs up to six times as much
# (\u003c), or seven for lists of short terms. A hostile stream must not fill the memory.
LONGEST_OBJECT = 16 << 20
BEGINNING = 4 << 10  # bytes kept of a longer line: they contain the object's identity


class BrokenStream(Exception):
    """The stream contains something that is not an event, so events may be lost."""


class TooLong(NamedTuple):
    """The start of a line that is too large."""

    beginning: bytes


class Gathered:
    """A buffer for parts until they are complete; only the start of a too large one is kept."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._pieces: list[bytes] = []
        self._too_long: TooLong | None = None
        self.length = 0

    def add(self, piece: bytes) -> None:
        """Add the next part."""
        self.length += len(piece)
        if self._too_long is not None:
            return
        self._pieces.append(piece)
        if self.length > self._longest:
            self._too_long = TooLong(b"".join(self._pieces)[:BEGINNING])
            self._pieces = []

    def take(self) -> bytes | TooLong:
        """Return the content, and clear the buffer."""
        found = self._too_long or b"".join(self._pieces)
        self._pieces, self._too_long, self.length = [], None, 0
        return found


class WatchLines:
    """Splits one stream into lines; a line may arrive in any number of chunks."""

    def __init__(self, longest: int = LONGEST_OBJECT) -> None:
        self._longest = longest
        self._begun = Gathered(longest)

    @property
    def is_between_lines(self) -> bool:
        """Return whether the last line was complete."""
        return not self._begun.length

    def split(self, chunk: bytes) -> list[bytes | TooLong]:
        """Return the lines that end in this chunk; TooLong for those that are too large."""
        *whole, rest = chunk.split(b"\n")
        lines: list[bytes | TooLong] = [*whole]
        if len(chunk) > self._longest:
            lines = [line if len(line) <= self._longest else TooLong(line[:BEGINNING]) for line in whole]
        if whole and self._begun.length:
            self._begun.add(whole[0])
            lines[0] = self._begun.take()
        if rest:
            self._begun.add(rest)
        return lines
