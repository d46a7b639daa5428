"""The only parser of YAML and JSON: compatible with kube-scheduler, and safe with hostile input."""

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import yaml

from pilotage.config.references import References, TooMuch, merge
from pilotage.config.scalars import Scalar, key_of, meaning_of

At: TypeAlias = tuple[str | int, ...]  # the path from the top of a document to a value

Progress: TypeAlias = Callable[[int, int], None]  # bytes done, bytes in total

LARGEST = 1 << 20
EVENTS_BETWEEN = 10_000  # after which progress is reported
DEEPEST = 100
# The parser in C is ten times faster. Only its events are used, so no tag ever creates an object.
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
    """The position of a value in the file, and its unquoted word, if any."""

    line: int
    word: str | None = None


@dataclass(frozen=True)
class Document:
    """One document: its value as JSON types, and its number, counted from one."""

    value: Any
    number: int
    source: str
    data: bytes = field(repr=False)

    def spot(self, at: At) -> Spot:
        """Return the position of the value at this path, or of the nearest one around it."""
        return next((self._spots[at[:end]] for end in range(len(at), -1, -1) if at[:end] in self._spots), Spot(1))

    @cached_property
    def _spots(self) -> dict[At, Spot]:
        # Parsing again is only needed for errors; keeping every position would always cost memory.
        spots: dict[At, Spot] = {}
        # JSON may contain what YAML cannot parse; then only the lines before that are known.
        with suppress(Unreadable):
            for document in _Builder(self.source, spots=spots).documents(self.data):
                if document.number == self.number:
                    break
        return spots


def read_file(path: Path, *, largest: int = LARGEST) -> bytes:
    """Return the content of a file; OSError, or Unreadable if it is too large."""
    with path.open("rb") as file:
        data = file.read(largest + 1)
    check_size(data, str(path), largest)
    return data


def documents(
    data: bytes | str,
    source: str,
    *,
    largest: int = LARGEST,
    deepest: int = DEEPEST,
    references: int = 0,
    progress: Progress | None = None,
) -> Iterator[Document]:
    """Yield the documents of a text one by one; Unreadable names file, document and line.

    `references` is the maximum number of values that aliases may expand to; without it none are allowed. `progress` is
    called periodically.
    """
    try:
        content = data.encode() if isinstance(data, str) else data
    except UnicodeEncodeError:
        raise Unreadable("this is not valid Unicode", source=source) from None
    check_size(content, source, largest)
    yield from _Builder(source, deepest, references=references).documents(content, progress)


def check_size(data: bytes, source: str, largest: int) -> None:
    """Raise Unreadable for data that is too large."""
    if len(data) > largest:
        raise Unreadable(f"larger than {largest} bytes, the maximum", source=source)


class _Open:
    """A list or map that has begun and not ended."""

    __slots__ = ("awaits_key", "container", "key", "marks", "merged")

    def __init__(self, container: list[Any] | dict[str, Any]) -> None:
        self.container = container
        self.key: str | None = None
        self.awaits_key = isinstance(container, dict)
        self.marks: dict[str, Any] = {}  # the position of each key
        self.merged: list[Any] = []  # the maps whose fields << adds


class _Builder:
    """Builds values from parser events, with a stack instead of recursion."""

    def __init__(
        self, source: str, deepest: int = DEEPEST, spots: dict[At, Spot] | None = None, references: int = 0
    ) -> None:
        self.source, self.deepest, self.spots = source, deepest, spots
        self.number = 0
        self.mark: Any = None  # where the last event begins
        self.stack: list[_Open] = []
        self.value: Any = None
        self.references = References(references) if references else None

    def documents(self, data: bytes, progress: Progress | None = None) -> Iterator[Document]:
        # Dispatched by type, because this runs for each of millions of events.
        take: dict[type[yaml.Event], Callable[[Any], None]] = {
            yaml.DocumentStartEvent: self.begin,
            yaml.ScalarEvent: self.take_scalar,
            yaml.AliasEvent: self.take_alias,
            yaml.SequenceStartEvent: self.open,
            yaml.MappingStartEvent: self.open,
            yaml.SequenceEndEvent: self.close,
            yaml.MappingEndEvent: self.close,
        }
        try:
            for count, event in enumerate(yaml.parse(data, Loader=_Parser)):
                if progress is not None and not count % EVENTS_BETWEEN and event.start_mark is not None:
                    progress(event.start_mark.index, len(data))
                handle = take.get(type(event))
                if handle is not None:
                    handle(event)
                elif isinstance(event, yaml.DocumentEndEvent):
                    yield Document(self.value, self.number, self.source, data)
        except yaml.reader.ReaderError as error:
            line = data.count(b"\n", 0, error.position) + 1
            raise self.unreadable(f"a character that YAML does not allow ({error.reason})", line) from None
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark else 0
            raise self.unreadable(_told(error, data, line), line) from None
        except TooMuch as error:
            raise self.unreadable(str(error)) from None

    @property
    def line(self) -> int:
        return self.mark.line + 1 if self.mark is not None else 0

    def begin(self, event: yaml.DocumentStartEvent) -> None:
        self.number, self.value = self.number + 1, None
        if self.spots is not None:
            self.spots.clear()
        if self.references is not None:
            self.references.forget()

    def take_scalar(self, event: yaml.ScalarEvent) -> None:
        self.mark = event.start_mark
        if self.stack and self.stack[-1].awaits_key:
            self.take_key(self.stack[-1], event)
            return
        value = self.scalar(event)
        if event.anchor is not None:
            self.remember(event.anchor, value)
        self.put(value, event)

    def take_alias(self, event: yaml.AliasEvent) -> None:
        self.mark = event.start_mark
        if self.references is None:
            raise self.refused(f"*{event.anchor}")
        if self.stack and self.stack[-1].awaits_key:
            raise self.unreadable("a key must be a word, not a reference")
        unfinished = [inside.container for inside in self.stack]
        self.put(self.references.copy(str(event.anchor), unfinished, self.deepest - len(self.stack)))

    def open(self, event: yaml.CollectionStartEvent) -> None:
        self.mark = event.start_mark
        if self.stack and self.stack[-1].awaits_key:
            raise self.unreadable("a key must be a word, not a list or a map")
        if len(self.stack) >= self.deepest:
            raise self.unreadable(f"nested deeper than {self.deepest} levels")
        is_list = isinstance(event, yaml.SequenceStartEvent)
        if event.tag is not None and event.tag != _TAG + ("seq" if is_list else "map"):
            raise self.unreadable(f"the tag {event.tag} is not supported; remove it")
        container: list[Any] | dict[str, Any] = [] if is_list else {}
        if event.anchor is not None:
            self.remember(event.anchor, container)
        self.put(container)
        self.stack.append(_Open(container))

    def close(self, event: yaml.CollectionEndEvent) -> None:
        ended = self.stack.pop()
        if ended.merged:
            assert isinstance(ended.container, dict)
            merge(ended.container, ended.merged)

    def remember(self, anchor: str, value: Any) -> None:
        if self.references is None:
            raise self.refused(f"&{anchor}")
        self.references.known[anchor] = value

    def take_key(self, inside: _Open, event: yaml.ScalarEvent) -> None:
        if event.anchor is not None:
            self.remember(event.anchor, event.value)
        if event.value == "<<" and event.implicit[0]:
            if self.references is None:
                raise self.unreadable("<< takes fields from another place; write them out instead")
            inside.key, inside.awaits_key = None, False
            return
        key = key_of(self.scalar(event))
        if key is None:
            raise self.unreadable("null cannot be a key; quote it if it is meant as a word")
        if key in inside.marks:
            line = inside.marks[key].line + 1
            raise self.unreadable(f'key "{key}" already set in map (line {line}); keep one of the two')
        inside.key, inside.awaits_key, inside.marks[key] = key, False, self.mark

    def put(self, value: Any, event: yaml.ScalarEvent | None = None) -> None:
        if not self.stack:
            self.value = value
        else:
            inside = self.stack[-1]
            if not isinstance(inside.container, dict):
                inside.container.append(value)
            else:
                if inside.key is None:
                    inside.merged.append(value)
                else:
                    inside.container[inside.key] = value
                inside.awaits_key = True
        if self.spots is not None:
            self.spots[self.path()] = Spot(self.line, event.value if event is not None and event.implicit[0] else None)

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
        if not isinstance(value, float):
            return value
        # kube-scheduler converts YAML to JSON, where 1.0 becomes 1; larger numbers would become 1e+21.
        if not math.isfinite(value):
            raise self.unreadable(f"{event.value} is not a number that JSON can represent")
        return int(value) if value.is_integer() and abs(value) < 1e21 else value

    def tagged(self, event: yaml.ScalarEvent) -> Scalar:
        value, wanted = meaning_of(event.value), _TYPES_OF_TAG.get(event.tag or "")
        if wanted is None:
            raise self.unreadable(f"the tag {event.tag} is not supported; remove it")
        if type(value) not in wanted:
            raise self.unreadable(f"{event.value!r} is not what its tag {event.tag} says")
        return value

    def refused(self, reference: str) -> Unreadable:
        return self.unreadable(f"{reference} refers to another place; write the value out instead")

    def unreadable(self, problem: str, line: int = 0) -> Unreadable:
        return Unreadable(problem, source=self.source, document=max(self.number, 1), line=line or self.line)


def _told(error: yaml.MarkedYAMLError, data: bytes, line: int) -> str:
    problem = " ".join(part for part in (error.context, error.problem) if part)
    tab = "cannot start any token" in problem and b"\t" in data.split(b"\n")[line - 1]
    return f"{problem}; indent with spaces, not with tabs" if tab else problem
