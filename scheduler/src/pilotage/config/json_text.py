"""A JSON text as one document; to kube-scheduler a text that begins with a brace is JSON and nothing else."""

import json
from typing import Any, NoReturn

from pilotage.config.documents import DEEPEST, LARGEST, Document, Unreadable, check_size


def looks_like_json(data: bytes) -> bool:
    """Whether a text must be JSON."""
    return data.lstrip()[:1] == b"{"


def json_document(data: bytes, source: str, *, largest: int = LARGEST, deepest: int = DEEPEST) -> Document:
    """Read the one value of a JSON text; Unreadable tells file and line."""
    check_size(data, source, largest)
    try:
        value = json.loads(data, object_pairs_hook=_map, parse_constant=_no_number)
        # An escape can stand for half a character, which no file and no terminal takes.
        json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise Unreadable(f"no valid JSON: {error.msg}", source=source, document=1, line=error.lineno) from None
    except RecursionError:
        raise _too_deep(source, deepest) from None
    except ValueError as error:
        raise Unreadable(f"no valid JSON: {error}", source=source, document=1) from None
    if _depth(value) > deepest:
        raise _too_deep(source, deepest)
    return Document(value, 1, source, data)


def _map(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f'key "{key}" already set in map; keep one of the two')
        found[key] = value
    return found


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number that JSON can hold")


def _depth(value: Any) -> int:
    level, depth = [value], 0
    while level := [part for part in level if isinstance(part, (dict, list))]:
        depth += 1
        level = [inner for part in level for inner in (part.values() if isinstance(part, dict) else part)]
    return depth


def _too_deep(source: str, deepest: int) -> Unreadable:
    return Unreadable(f"nested deeper than {deepest} levels", source=source, document=1)
