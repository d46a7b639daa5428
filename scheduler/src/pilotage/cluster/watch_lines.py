"""Lines out of the chunks in which a stream arrives."""

LONGEST_LINE = (
    8 << 20
)  # bytes; etcd holds objects of up to about 1.5 MiB, and a hostile stream must not fill the memory


class BrokenStream(Exception):
    """The stream holds something that is no event, so what it had to say is lost."""


class WatchLines:
    """Cuts one stream into lines; a line may come in any number of chunks."""

    def __init__(self, longest: int = LONGEST_LINE) -> None:
        self._longest = longest
        self._begun: list[bytes] = []
        self._length = 0

    @property
    def is_between_lines(self) -> bool:
        """Tell whether the last line was whole."""
        return not self._length

    def split(self, chunk: bytes) -> list[bytes]:
        """Return the lines that end in this chunk; a line that is too long raises BrokenStream."""
        *whole, rest = chunk.split(b"\n")
        if whole:
            self._check(len(whole[0]))
            if self._begun:
                whole[0] = b"".join((*self._begun, whole[0]))
            self._begun, self._length = [], 0
        if rest:
            self._check(len(rest))
            self._begun.append(rest)
            self._length += len(rest)
        return whole

    def _check(self, more: int) -> None:
        if self._length + more > self._longest:
            raise BrokenStream(f"a line of more than {self._longest} bytes")
