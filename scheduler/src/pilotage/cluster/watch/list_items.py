"""Splits the JSON of a list into items as its chunks arrive; at most one item is buffered."""

import re
from collections.abc import Iterator

import numpy as np

from pilotage.cluster.watch.watch_lines import LONGEST_OBJECT, BrokenStream, Gathered, TooLong

LARGEST_FRAME = 1 << 20  # bytes around the items: kind, version and continue token

_TOP, _LIST, _ITEM = 1, 2, 3  # the bracket depth inside of the response, the items, and one item
_QUOTE, _OPENING, _CLOSING = 1, 2, 3
_KINDS = {'"': _QUOTE, "{": _OPENING, "[": _OPENING, "}": _CLOSING, "]": _CLOSING}
_IS_MARK = bytes(chr(byte) in _KINDS for byte in range(256))
_KIND_OF = np.array([_KINDS.get(chr(byte), 0) for byte in range(256)], np.uint8)
_ITEMS = re.compile(rb'"items"\s*:\s*\Z')


class ListItems:
    """Splits one response into its items and the frame around them; an item may arrive in any number of chunks."""

    def __init__(self, longest: int = LONGEST_OBJECT) -> None:
        self._item = Gathered(longest)
        self._frame = bytearray()
        self._depth = 0
        self._is_text = False  # whether the last byte was inside of a string
        self._is_escaped = False  # whether the last byte was a backslash that belongs to the next one
        self._has_items = False  # whether the innermost list is that of the items

    def split(self, chunk: bytes) -> list[bytes | TooLong]:
        """Return the items that end in this chunk; BrokenStream if this is not a list."""
        found: list[bytes | TooLong] = []
        start = 0
        for place, depth, opens in self._brackets(chunk):
            if opens and depth == _ITEM and self._has_items:
                start = place  # what is between two items is a comma
            elif opens and depth == _LIST:
                self._keep(chunk[start:place])
                start = place
                self._has_items = chunk[place] == ord("[") and _ITEMS.search(self._frame) is not None
                if self._has_items:
                    self._keep(b"[")
            elif not opens and depth == _LIST and self._has_items:
                self._item.add(chunk[start : place + 1])
                found.append(self._item.take())
            elif not opens and depth == _TOP and self._has_items:
                self._has_items, start = False, place
        self._leave(chunk[start:])
        return found

    def frame(self) -> bytes:
        """Return the response without its items; BrokenStream if it is incomplete."""
        if self._depth or not self._frame:
            raise BrokenStream("a list without an end")
        return bytes(self._frame)

    def _leave(self, rest: bytes) -> None:
        """Keep the incomplete rest of this chunk."""
        if not self._has_items:
            self._keep(rest)
        elif self._depth >= _ITEM:
            self._item.add(rest)

    def _keep(self, piece: bytes) -> None:
        self._frame += piece
        if len(self._frame) > LARGEST_FRAME:
            raise BrokenStream(f"a list with more than {LARGEST_FRAME} bytes around its items")

    def _brackets(self, chunk: bytes) -> Iterator[tuple[int, int, bool]]:
        """Yield the outer brackets: position, depth inside, and whether it opens."""
        text = self._without_escapes(chunk)
        places = np.frombuffer(text.translate(_IS_MARK), np.bool_).nonzero()[0]
        kinds = _KIND_OF[np.frombuffer(text, np.uint8)[places]]
        is_quote = kinds == _QUOTE
        is_text = np.logical_xor.accumulate(is_quote) ^ self._is_text
        is_bracket = ~(is_quote | is_text)
        places, opens = places[is_bracket], kinds[is_bracket] == _OPENING
        depths = np.cumsum(np.where(opens, 1, -1), dtype=np.int64) + self._depth
        if len(depths) and depths.min() < 0:
            raise BrokenStream("a response that is not a list: an unmatched bracket")
        outer = np.flatnonzero(depths <= _LIST + opens)
        self._is_text = bool(is_text[-1]) if len(is_text) else self._is_text
        self._depth = int(depths[-1]) if len(depths) else self._depth
        return zip(places[outer].tolist(), depths[outer].tolist(), opens[outer].tolist(), strict=True)

    def _without_escapes(self, chunk: bytes) -> bytes:
        """Return text of the same length in which every quote starts or ends a string."""
        if self._is_escaped and chunk:
            chunk = b"_" + chunk[1:]
        text = chunk.replace(b"\\\\", b"__").replace(b'\\"', b"__")
        self._is_escaped = text.endswith(b"\\") if chunk else self._is_escaped
        return text
