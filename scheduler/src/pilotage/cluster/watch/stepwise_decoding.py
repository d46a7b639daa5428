"""Decodes JSON in short steps, with the same result as in one step."""

from collections.abc import Callable, Generator
from functools import cache
from types import UnionType
from typing import Any, TypeAlias, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

SLICE = 1 << 20  # bytes; smaller parts are decoded in one step

Steps: TypeAlias = Generator[None, None, Any]


def decoded_in_steps(raw: Raw | bytes, kind: Any) -> Steps:
    """Decode like msgspec, and yield between steps; paths in errors are relative to a step."""
    if memoryview(raw).nbytes < SLICE:
        return _decoder(kind)(raw)
    inner = _without_none(kind)
    if isinstance(inner, type) and issubclass(inner, Struct) and inner.__struct_config__.tag is None:
        return (yield from _fields_in_steps(raw, inner))
    if get_origin(inner) is tuple and get_args(inner)[1:] == (Ellipsis,):
        return (yield from _items_in_steps(raw, get_args(inner)[0]))
    return _decoder(kind)(raw)


def _fields_in_steps(raw: Raw | bytes, kind: type[Struct]) -> Steps:
    parts, kinds = _cutter(kind)(raw), _field_kinds(kind)
    yield
    values = {}
    for name in kind.__struct_fields__:
        if (part := getattr(parts, name)) is not UNSET:
            values[name] = yield from decoded_in_steps(part, kinds[name])
    try:
        return kind(**values)
    except (TypeError, ValueError) as error:  # a field is missing, or the kind's own check failed
        raise msgspec.ValidationError(str(error)) from None


def _items_in_steps(raw: Raw | bytes, kind: Any) -> Steps:
    items: list[Raw] = _decoder(list[Raw])(raw)
    yield
    found: list[Any] = []
    count = max(1, len(items) * SLICE // memoryview(raw).nbytes)
    for start in range(0, len(items), count):
        some = items[start : start + count]
        if len(some) == 1:
            found.append((yield from decoded_in_steps(some[0], kind)))
        else:
            found += _decoder(list[kind])(b"[" + b",".join(some) + b"]")
        yield
    return tuple(found)


def _without_none(kind: Any) -> Any:
    """Return the only type of an optional field."""
    if get_origin(kind) is not Union and not isinstance(kind, UnionType):
        return kind
    kinds = [each for each in get_args(kind) if each is not type(None)]
    return kinds[0] if len(kinds) == 1 else kind


@cache
def _decoder(kind: Any) -> Callable[[Any], Any]:
    return msgspec.json.Decoder(kind).decode


@cache
def _field_kinds(kind: type[Struct]) -> dict[str, Any]:
    return get_type_hints(kind)


@cache
def _cutter(kind: type[Struct]) -> Callable[[Any], Any]:
    """Return a decoder that splits an object into its raw fields."""
    names = zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True)
    fields = [(name, Raw | UnsetType, msgspec.field(default=UNSET, name=written)) for name, written in names]
    return msgspec.json.Decoder(msgspec.defstruct(f"{kind.__name__}Cut", fields, gc=False)).decode
