"""Encodes answers piece by piece, so that others have their turn: a table of nodes is hundreds of kilobytes."""

import hashlib
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec.structs import FieldInfo

from pilotage.views.state import Steps

A_PIECE = 1_000  # items of a list
UNTAGGED = "at"  # the field that differs between answers that say the same

_encode = msgspec.json.Encoder().encode


def encoded(answer: msgspec.Struct) -> Steps[tuple[bytes, str]]:
    """Return the JSON that msgspec writes, and an ETag: the same for all answers that say the same."""
    pieces, digest = list[bytes](), hashlib.blake2b(digest_size=12)
    for name, piece in _pieces(answer):
        pieces.append(piece)
        if name != UNTAGGED:
            digest.update(piece)
        yield
    return b"".join(pieces), f'"{digest.hexdigest()}"'


def _pieces(answer: msgspec.Struct) -> Iterator[tuple[str, bytes]]:
    """Yield the pieces of a struct, each with the name of its field."""
    config, before = answer.__struct_config__, b"{"
    if config.tag_field is not None:
        yield "", b"{%s:%s" % (_encode(config.tag_field), _encode(config.tag))
        before = b","
    for field in msgspec.structs.fields(type(answer)):
        value = getattr(answer, field.name)
        if config.omit_defaults and _is_default(field, value):
            continue
        yield field.name, b"%s%s:" % (before, _encode(field.encode_name))
        for piece in _of_value(value):
            yield field.name, piece
        before = b","
    yield "", b"}" if before == b"," else b"{}"


def _is_default(field: FieldInfo, value: Any) -> bool:
    """Return what msgspec leaves out: the default itself, or an empty list or dict."""
    if field.default_factory in (list, dict):
        return type(value) is field.default_factory and not value
    return field.default is not msgspec.NODEFAULT and value is field.default


def _of_value(value: Any) -> Iterator[bytes]:
    if isinstance(value, list) and len(value) > A_PIECE:
        before = b"["
        for start in range(0, len(value), A_PIECE):
            yield before + _encode(value[start : start + A_PIECE])[1:-1]
            before = b","
        yield b"]"
    elif isinstance(value, dict) and any(isinstance(each, list) and len(each) > A_PIECE for each in value.values()):
        before = b"{"
        for key, each in value.items():
            yield b"%s%s:" % (before, _encode(key))
            yield from _of_value(each)
            before = b","
        yield b"}"
    else:
        yield _encode(value)
