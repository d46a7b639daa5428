"""The one way in which YAML and JSON come in: as kube-scheduler reads them, and safe whoever wrote them."""

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import yaml

from pilotage.config.scalars import Scalar, key_of, meaning_of

At: TypeAlias = tuple[str | int, ...]  # the way from the top of a document to one value

LARGEST = 1 << 20
DEEPEST = 100
# The parser in C is ten times as fast. Events alone are asked of either, so no tag ever makes an object.
_Parser = getattr(yaml, "CBaseLoader", yaml.BaseLoader)

_TAG = "tag:yaml.org,2002:"
_TYPES_OF_TAG: dict[str, tuple[type, ...]] = {
    _TAG + "int": (int,),
    _TAG + "float": (float, int),
    _TAG + "bool": (bool,),
    _TAG + "null": (type(None),),
}


class Unreadable(Exception):
    """A file, or one document in it, cannot be read."""

    def __init__(self, problem: str, *, source: str, document: int = 0, line: int = 0) -> None:
        places = [f"document {document}"] if document else []
        places += [f"line {line}"] if line else []
        super().__init__(f"{source}: {', '.join(places)}{': ' if places else ''}{problem}")
        self.problem, self.source, self.document, self.line = problem, source, document, line


@dataclass(frozen=True)
class Spot:
    """Where a value stands in the file, and the word that was written there if it was a bare one."""

    line: int
    word: str | None = None


@dataclass(frozen=True)
class Document:
    """One document: its value, made of what JSON knows, and its number, counted from one."""

    value: Any
    number: int
    source: str
    data: bytes = field(repr=False)

    def spot(self, at: At) -> Spot:
        """Find the value at this path, or the nearest one around it."""
        return next((self._spots[at[:end]] for end in range(len(at), -1, -1) if at[:end] in self._spots), Spot(1))

    @cached_property
    def _spots(self) -> dict[At, Spot]:
        # Reading once more costs nothing until something is wrong; keeping every line would cost memory always.
        spots: dict[At, Spot] = {}
        # A JSON text can hold what YAML cannot read; then the lines are those up to there.
        with suppress(Unreadable):
            for document in _Builder(self.source, spots=spots).documents(self.data):
                if document.number == self.number:
                    break
        return spots


def read_file(path: Path, *, largest: int = LARGEST) -> bytes:
    """Return what the file holds, or OSError, or Unreadable where it holds too much."""
    with path.open("rb") as file:
        data = file.read(largest + 1)
    check_size(data, str(path), largest)
    return data


def documents(data: bytes | str, source: str, *, largest: int = LARGEST, deepest: int = DEEPEST) -> Iterator[Document]:
    """Yield the documents of a text one by one; Unreadable tells file, document and line."""
    try:
        content = data.encode() if isinstance(data, str) else data
    except UnicodeEncodeError:
        raise Unreadable("this is no valid Unicode text", source=source) from None
    check_size(content, source, largest)
    yield from _Builder(source, deepest).documents(content)


def check_size(data: bytes, source: str, largest: int) -> None:
    """Refuse what is too large to be looked at."""
    if len(data) > largest:
        raise Unreadable(f"larger than {largest} bytes, which is the most that is read here", source=source)


@dataclass
class _Open:
    """A list or map that has begun and not ended."""

    container: list[Any] | dict[str, Any]
    key: str | None = None
    awaits_key: bool = False
    lines: dict[str, int] = field(default_factory=dict)


class _Builder:
    """Puts values together from the events of a parser, with a stack of its own so that depth costs no recursion."""

    def __init__(self, source: str, deepest: int = DEEPEST, spots: dict[At, Spot] | None = None) -> None:
        self.source, self.deepest, self.spots = source, deepest, spots
        self.number = 0
        self.line = 0
        self.stack: list[_Open] = []
        self.value: Any = None

    def documents(self, data: bytes) -> Iterator[Document]:
        try:
            for event in yaml.parse(data, Loader=_Parser):
                if isinstance(event, yaml.DocumentEndEvent):
                    yield Document(self.value, self.number, self.source, data)
                else:
                    self.take(event)
        except yaml.reader.ReaderError as error:
            line = data.count(b"\n", 0, error.position) + 1
            raise self.unreadable(f"a character that YAML does not allow ({error.reason})", line) from None
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark else 0
            raise self.unreadable(_told(error, data, line), line) from None

    def take(self, event: yaml.Event) -> None:
        if isinstance(event, yaml.DocumentStartEvent):
            self.number, self.value = self.number + 1, None
            if self.spots is not None:
                self.spots.clear()
        elif isinstance(event, yaml.NodeEvent):
            self.line = event.start_mark.line + 1 if event.start_mark else self.line
            self.refuse_reference(event)
            assert isinstance(event, (yaml.ScalarEvent, yaml.CollectionStartEvent))
            self.take_node(event)
        elif isinstance(event, (yaml.SequenceEndEvent, yaml.MappingEndEvent)):
            self.stack.pop()

    def refuse_reference(self, event: yaml.NodeEvent) -> None:
        if event.anchor is not None:
            sign = "*" if isinstance(event, yaml.AliasEvent) else "&"
            raise self.unreadable(f"{sign}{event.anchor} refers to another place; write the value out instead")

    def take_node(self, event: yaml.ScalarEvent | yaml.CollectionStartEvent) -> None:
        inside = self.stack[-1] if self.stack else None
        if isinstance(event, yaml.ScalarEvent):
            if inside and inside.awaits_key:
                self.take_key(inside, event)
            else:
                self.put(self.scalar(event), event.value if event.implicit[0] else None)
        elif inside and inside.awaits_key:
            raise self.unreadable("a key must be a word, not a list or a map")
        else:
            self.open([] if isinstance(event, yaml.SequenceStartEvent) else {}, event.tag)

    def take_key(self, inside: _Open, event: yaml.ScalarEvent) -> None:
        if event.value == "<<" and event.implicit[0]:
            raise self.unreadable("<< takes fields from another place; write them out instead")
        key = key_of(self.scalar(event))
        if key is None:
            raise self.unreadable("null cannot be a key; quote it if it is meant as a word")
        if key in inside.lines:
            raise self.unreadable(f'key "{key}" already set in map (line {inside.lines[key]}); keep one of the two')
        inside.key, inside.awaits_key, inside.lines[key] = key, False, self.line

    def open(self, container: list[Any] | dict[str, Any], tag: str | None) -> None:
        if len(self.stack) >= self.deepest:
            raise self.unreadable(f"nested deeper than {self.deepest} levels")
        if tag is not None and tag != _TAG + ("seq" if isinstance(container, list) else "map"):
            raise self.unreadable(f"the tag {tag} is not known here; leave it out")
        self.put(container)
        self.stack.append(_Open(container, awaits_key=isinstance(container, dict)))

    def put(self, value: Any, word: str | None = None) -> None:
        inside = self.stack[-1] if self.stack else None
        if inside is None:
            self.value = value
        elif isinstance(inside.container, list):
            inside.container.append(value)
        else:
            assert inside.key is not None
            inside.container[inside.key] = value
            inside.awaits_key = True
        if self.spots is not None:
            self.spots[self.path()] = Spot(self.line, word)

    def path(self) -> At:
        return tuple(
            len(inside.container) - 1 if isinstance(inside.container, list) else inside.key or ""
            for inside in self.stack
        )

    def scalar(self, event: yaml.ScalarEvent) -> Scalar:
        if event.tag is None:
            value = meaning_of(event.value) if event.implicit[0] else str(event.value)
        elif event.tag in (_TAG + "str", "!"):
            value = str(event.value)
        else:
            value = self.tagged(event)
        if isinstance(value, float) and not math.isfinite(value):
            raise self.unreadable(f"{event.value} is no number that JSON can hold")
        # kube-scheduler's reader goes by way of JSON, where 1.0 is written as 1; from here on it would write 1e+21.
        return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 1e21 else value

    def tagged(self, event: yaml.ScalarEvent) -> Scalar:
        value, wanted = meaning_of(event.value), _TYPES_OF_TAG.get(event.tag or "")
        if wanted is None:
            raise self.unreadable(f"the tag {event.tag} is not known here; leave it out")
        if type(value) not in wanted:
            raise self.unreadable(f"{event.value!r} is not what its tag {event.tag} says")
        return value

    def unreadable(self, problem: str, line: int = 0) -> Unreadable:
        return Unreadable(problem, source=self.source, document=max(self.number, 1), line=line or self.line)


def _told(error: yaml.MarkedYAMLError, data: bytes, line: int) -> str:
    problem = " ".join(part for part in (error.context, error.problem) if part)
    tab = "cannot start any token" in problem and b"\t" in data.split(b"\n")[line - 1]
    return f"{problem}; indent with spaces, not with tabs" if tab else problem
