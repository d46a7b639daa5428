"""Parses JSON into documents; like kube-scheduler, treats a text that begins with a brace as JSON."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from pilotage.config.documents import DEEPEST, LARGEST, Document, Unreadable, check_size

# The characters allowed between two JSON values of one text.
_GAP = re.compile(r"(?:\s|^---[ \t]*$)*", re.MULTILINE)


def looks_like_json(data: bytes) -> bool:
    """Whether a text must be JSON."""
    return data.lstrip()[:1] == b"{"


def json_document(data: bytes, source: str, *, largest: int = LARGEST, deepest: int = DEEPEST) -> Document:
    """Parse the only value of a JSON text; Unreadable names file and line."""
    check_size(data, source, largest)
    with _explained(source, 1, deepest):
        value = json.loads(data, object_pairs_hook=_map, parse_constant=_no_number)
        _check(value, deepest)
    return Document(value, 1, source, data)


def json_documents(data: bytes, source: str, *, largest: int = LARGEST, deepest: int = DEEPEST) -> Iterator[Document]:
    """Yield the values of a text that may contain several; Unreadable names file, value and line."""
    check_size(data, source, largest)
    decoder = json.JSONDecoder(object_pairs_hook=_map, parse_constant=_no_number)
    number = 1
    with _explained(source, number, deepest):
        text = data.decode()
    end = _after_gap(text, 0)
    while end < len(text):
        with _explained(source, number, deepest):
            value, end = decoder.raw_decode(text, end)
            _check(value, deepest)
        yield Document(value, number, source, data)
        end, number = _after_gap(text, end), number + 1


class _TooDeep(Exception):
    """A value that is nested too deeply."""


@contextmanager
def _explained(source: str, number: int, deepest: int) -> Iterator[None]:
    try:
        yield
    except json.JSONDecodeError as error:
        problem = f"invalid JSON: {error.msg}"
        raise Unreadable(problem, source=source, document=number, line=error.lineno) from None
    except (RecursionError, _TooDeep):
        raise Unreadable(f"nested deeper than {deepest} levels", source=source, document=number) from None
    except ValueError as error:
        raise Unreadable(f"invalid JSON: {error}", source=source, document=number) from None


def _check(value: Any, deepest: int) -> None:
    # An escape can be half of a surrogate pair, which cannot be encoded.
    json.dumps(value, ensure_ascii=False).encode()
    level, depth = [value], 0
    while level := [part for part in level if isinstance(part, (dict, list))]:
        depth += 1
        level = [inner for part in level for inner in (part.values() if isinstance(part, dict) else part)]
    if depth > deepest:
        raise _TooDeep


def _after_gap(text: str, at: int) -> int:
    gap = _GAP.match(text, at)
    return gap.end() if gap else at


def _map(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f'key "{key}" already set in map; keep one of the two')
        found[key] = value
    return found


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a number that JSON can represent")
