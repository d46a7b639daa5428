"""Parses regular expressions in RE2's syntax, with the words of Go for what is wrong."""

import re

from msgspec import Struct

from pilotage.model.cel.pattern_classes import (
    CATEGORY,
    LAST,
    PERL,
    POSIX,
    CharacterSet,
    Ranges,
    character_set,
    inverted,
)

MOST_REPEATS = 1000
DEEPEST = 100  # groups in groups
ESCAPES = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
COUNT = re.compile(r"\{([0-9]+)(?:(,)([0-9]*))?\}")
NAME = re.compile(r"\(\?P?<([A-Za-z0-9_]+)>")
FLAGS = re.compile(r"\(\?([imsU]*)(-[imsU]+)?([:)])")
HEX = re.compile(r"\\x(?:\{([0-9A-Fa-f]{1,8})\}|([0-9A-Fa-f]{2}))")
OCTAL = re.compile(r"\\(0[0-7]{0,2}|[1-7][0-7]{1,2})")
PROPERTY = re.compile(r"\\([pP])(?:\{(\^?)([A-Za-z_]+)\}|([A-Za-z]))")
NAMED_CLASS = re.compile(r"\[:(\^?)([a-z]+):\]")
ANY, ANY_BUT_NEWLINE = character_set([(0, LAST)]), character_set(inverted([(10, 10)]))


class InvalidPattern(ValueError):
    """The text is not a regular expression."""


class UnsupportedPattern(ValueError):
    """RE2 knows this, and this scheduler does not."""


class One(Struct, frozen=True):
    """One character of a set."""

    signs: CharacterSet


class Assertion(Struct, frozen=True):
    """A condition on the place between two characters."""

    kind: str  # text_start, text_end, line_start, line_end, boundary, no_boundary


class Sequence(Struct, frozen=True):
    """Parts one after the other."""

    parts: tuple["Piece", ...]


class Choice(Struct, frozen=True):
    """The first of these that matches."""

    parts: tuple["Piece", ...]


class Repeat(Struct, frozen=True):
    """A part several times, as often as possible unless it is lazy."""

    part: "Piece"
    least: int
    most: int | None
    is_lazy: bool


Piece = One | Assertion | Sequence | Choice | Repeat
EMPTY = Sequence(())


def _wrong(reason: str, where: str) -> InvalidPattern:
    return InvalidPattern(f"error parsing regexp: {reason}: `{where}`")


def parse_pattern(text: str) -> Piece:
    """Return the structure of a regular expression, or raise InvalidPattern or UnsupportedPattern."""
    parser = _Parser(text)
    piece = parser.choice(0)
    if parser.at < len(text):
        raise _wrong("unexpected )", text)
    return piece


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self._flags = frozenset[str]()

    def choice(self, depth: int) -> Piece:
        if depth > DEEPEST:
            raise UnsupportedPattern(f"a regular expression with more than {DEEPEST} groups in each other")
        flags = self._flags
        parts = [self._sequence(depth)]
        while self.text.startswith("|", self.at):
            self.at += 1
            parts.append(self._sequence(depth))
        self._flags = flags  # (?i) holds to the end of its group
        return parts[0] if len(parts) == 1 else Choice(tuple(parts))

    def _sequence(self, depth: int) -> Piece:
        parts: list[Piece] = []
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            start = self.at
            piece = self._atom(depth)
            if piece is not None:
                parts += self._repeated(piece)
            elif (sign := self.text[self.at : self.at + 1]) and sign in "*+?" and start == self.at:
                raise _wrong("missing argument to repetition operator", sign)
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _repeated(self, piece: Piece) -> list[Piece]:
        operator = ""
        while (found := self._operator()) is not None:
            least, most, written = found
            if operator:
                raise _wrong("invalid nested repetition operator", operator + written)
            operator = written
            if max(least, most or 0) > MOST_REPEATS or (most is not None and most < least):
                raise _wrong("invalid repeat count", written.removesuffix("?"))
            is_lazy = written.endswith("?") and len(written) > 1
            piece = Repeat(piece, least, most, is_lazy is not ("U" in self._flags))
            if repeats(piece) > MOST_REPEATS:
                raise _wrong("invalid repeat count", written.removesuffix("?"))
        return [piece]

    def _operator(self) -> tuple[int, int | None, str] | None:
        sign = self.text[self.at : self.at + 1]
        if sign and sign in "*+?":
            length, (least, most) = 1, {"*": (0, None), "+": (1, None), "?": (0, 1)}[sign]
        elif (match := COUNT.match(self.text, self.at)) is not None:
            if len(match[0]) > 12:
                raise _wrong("invalid repeat count", match[0])
            length, least = len(match[0]), int(match[1])
            most = (int(match[3]) if match[3] else None) if match[2] else least
        else:
            return None
        if self.text.startswith("?", self.at + length):
            length += 1
        written = self.text[self.at : self.at + length]
        self.at += length
        return least, most, written

    def _atom(self, depth: int) -> Piece | None:
        """Parse one piece; None for flags, which are none, and for an operator without one."""
        sign = self.text[self.at]
        if sign == "(":
            return self._group(depth)
        if sign == "[":
            return self._class()
        if sign == "\\":
            return self._escape()
        if sign in "*+?":
            return None
        self.at += 1
        if sign == ".":
            return One(ANY if "s" in self._flags else ANY_BUT_NEWLINE)
        if sign == "^":
            return Assertion("line_start" if "m" in self._flags else "text_start")
        if sign == "$":
            return Assertion("line_end" if "m" in self._flags else "text_end")
        return self._literal(sign)

    def _literal(self, sign: str) -> One:
        return One(character_set([(ord(sign), ord(sign))], folds="i" in self._flags))

    def _group(self, depth: int) -> Piece | None:
        start, flags = self.at, self._flags
        if (match := FLAGS.match(self.text, start)) is not None:
            if not match[1] and not match[2] and match[3] == ")":
                raise _wrong("missing argument to repetition operator", "?")
            self.at = match.end()
            self._flags = (flags | set(match[1])) - set(match[2] or "")
            if match[3] == ")":
                return None
        elif (match := NAME.match(self.text, start)) is not None:
            self.at = match.end()
        elif self.text.startswith("(?", start):
            raise _wrong("invalid or unsupported Perl syntax", self.text[start : start + 3])
        else:
            self.at += 1
        piece = self.choice(depth + 1)
        if not self.text.startswith(")", self.at):
            raise _wrong("missing closing )", self.text)
        self.at += 1
        self._flags = flags
        return piece

    def _escape(self) -> Piece | None:
        following = self.text[self.at + 1 : self.at + 2]
        if following == "Q":
            return self._quoted()
        assertions = {"A": "text_start", "z": "text_end", "b": "boundary", "B": "no_boundary"}
        if following in assertions and following:
            self.at += 2
            return Assertion(assertions[following])
        found = self._class_escape()
        if found is not None:
            ranges, categories = found
            return One(character_set(ranges, categories, folds="i" in self._flags))
        return self._literal(self._escaped_sign())

    def _quoted(self) -> Piece | None:
        end = self.text.find("\\E", self.at)
        quoted = self.text[self.at + 2 : end if end >= 0 else len(self.text)]
        self.at = end + 2 if end >= 0 else len(self.text)
        if not quoted:
            return EMPTY
        *before, last = [self._literal(sign) for sign in quoted]
        return Sequence((*before, *self._repeated(last)))

    def _class_escape(self) -> tuple[Ranges, tuple[tuple[str, bool], ...]] | None:
        """Parse an escape that stands for many characters."""
        following = self.text[self.at + 1 : self.at + 2]
        if following and following.lower() in PERL:
            self.at += 2
            ranges = PERL[following.lower()]
            return (ranges if following.islower() else inverted(ranges)), ()
        if following not in ("p", "P"):
            return None
        match = PROPERTY.match(self.text, self.at)
        name = (match[3] or match[4]) if match else ""
        if match is None or not name:
            raise _wrong("invalid character class range", self.text[self.at :])
        if not CATEGORY.fullmatch(name):
            if len(name) <= 2:
                raise _wrong("invalid character class range", match[0])
            raise UnsupportedPattern(f"{match[0]} in a regular expression")
        self.at = match.end()
        return [], ((name, (match[1] == "P") is not bool(match[2])),)

    def _escaped_sign(self) -> str:
        if self.at + 1 >= len(self.text):
            raise InvalidPattern("error parsing regexp: trailing backslash at end of expression: ``")
        sign = self.text[self.at + 1]
        code: int | None = None
        if (match := HEX.match(self.text, self.at)) is not None:
            code = int(match[1] or match[2], 16)
        elif (match := OCTAL.match(self.text, self.at)) is not None:
            code = int(match[1], 8)
        if match is not None and code is not None and code <= LAST:
            self.at = match.end()
            return chr(code)
        if sign in ESCAPES or (ord(sign) < 128 and not sign.isalnum()):
            self.at += 2
            return ESCAPES.get(sign, sign)
        raise _wrong("invalid escape sequence", self.text[self.at : self.at + 2])

    def _class(self) -> Piece:
        start = self.at
        self.at += 1
        is_negated = self._skip("^")
        ranges: Ranges = []
        categories: list[tuple[str, bool]] = []
        is_first = True
        while is_first or not self.text.startswith("]", self.at):
            if self.at >= len(self.text):
                raise _wrong("missing closing ]", self.text[start:])
            self._class_part(start, ranges, categories, is_first)
            is_first = False
        self.at += 1
        return One(character_set(ranges, tuple(categories), is_negated, "i" in self._flags))

    def _skip(self, sign: str) -> bool:
        if self.text.startswith(sign, self.at):
            self.at += 1
            return True
        return False

    def _class_part(self, start: int, ranges: Ranges, categories: list[tuple[str, bool]], is_first: bool) -> None:
        text = self.text
        if text[self.at] == "-" and not is_first and text[self.at + 1 : self.at + 2] not in ("]", ""):
            raise _wrong("invalid character class range", text[self.at : self.at + 2])
        if text.startswith("[:", self.at) and text.find(":]", self.at + 2) >= 0:
            end = text.find(":]", self.at + 2) + 2
            match = NAMED_CLASS.fullmatch(text, self.at, end)
            if match is None or match[2] not in POSIX:
                raise _wrong("invalid character class range", text[self.at : end])
            ranges += inverted(POSIX[match[2]]) if match[1] else POSIX[match[2]]
            self.at = end
            return
        if text[self.at] == "\\" and (found := self._class_escape()) is not None:
            ranges += found[0]
            categories += found[1]
            return
        begin = self.at
        low = high = self._class_sign(start)
        if text.startswith("-", self.at) and text[self.at + 1 : self.at + 2] not in ("]", ""):
            self.at += 1
            high = self._class_sign(start)
            if high < low:
                raise _wrong("invalid character class range", text[begin : self.at])
        ranges.append((ord(low), ord(high)))

    def _class_sign(self, start: int) -> str:
        if self.at >= len(self.text):
            raise _wrong("missing closing ]", self.text[start:])
        if self.text[self.at] == "\\":
            return self._escaped_sign()
        self.at += 1
        return self.text[self.at - 1]


def repeats(piece: Piece) -> int:
    """Return how often the innermost of nested counted repetitions is repeated."""
    if isinstance(piece, Repeat):
        times = piece.most if piece.most is not None else piece.least
        is_counted = (piece.least, piece.most) not in ((0, None), (1, None), (0, 1))
        return max(times, 1) * repeats(piece.part) if is_counted else repeats(piece.part)
    if isinstance(piece, Sequence | Choice):
        return max(map(repeats, piece.parts), default=1)
    return 1
