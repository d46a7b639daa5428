"""Strict validation of the file and of plugin arguments: unknown fields and wrong types, with a hint for each."""

from collections.abc import Iterator
from copy import deepcopy
from functools import partial
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from pilotage.config.documents import At
from pilotage.config.faults import Fault, Stage, dotted
from pilotage.config.suggestions import did_you_mean, fields_at
from pilotage.config.types import Section
from pilotage.model.go_text import as_json, quoted
from pilotage.model.redaction import redacted

SomeSection = TypeVar("SomeSection", bound=Section)

_UNKNOWN_FIELD = "extra_forbidden"
_WANTED = {
    "string_type": "a string",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "whole_number": "a whole number of {bits} bits",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "number": "a number of 32 bits",
    "float_type": "a number",
    "float_parsing": "a number",
    "duration": "a duration such as 15s or 1m30s",
    "base64": "base64 text",
    "tuple_type": "a list",
    "list_type": "a list",
    "set_type": "a list",
    "frozen_set_type": "a list",
    "dict_type": "a map",
    "model_type": "a map",
    "model_attributes_type": "a map",
}
_QUOTABLE = ("string_type", "base64")
_NUMBERS = ("whole_number", "number", "int_type", "float_type")
_OWN_RULES = {"value_error": "Value error, ", "assertion_error": "Assertion failed, "}


def read_section(section: type[SomeSection], given: Any, at: At = ()) -> tuple[SomeSection | None, list[Fault]]:
    """Return the valid part of the section, and an error for every unknown field and wrong type."""
    try:
        return section.model_validate(given, by_alias=True, by_name=False), []
    except ValidationError as error:
        found = _in_reading_order(error.errors(include_url=False), given)
    faults = [_fault(section, at, one) for one in found]
    unknown = [one["loc"] for one in found if one["type"] == _UNKNOWN_FIELD]
    # A union type adds its own name to the path, which is not in the document.
    if len(unknown) < len(found) or not {*_paths(given)}.issuperset(unknown):
        return None, faults
    # The known fields may have further errors, and all are reported together.
    known, more = read_section(section, _without(given, unknown), at)
    return known, faults + more


def _in_reading_order(errors: list[ErrorDetails], given: Any) -> list[ErrorDetails]:
    places = {at: place for place, at in enumerate(_paths(given))}

    def place(error: ErrorDetails) -> int:
        at = error["loc"]
        # A missing field has no position, but its parent has one.
        return next(places[at[:end]] for end in range(len(at), -1, -1) if at[:end] in places)

    return sorted(errors, key=place)


def _paths(value: Any, at: At = ()) -> Iterator[At]:
    yield at
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inner:
        yield from _paths(part, (*at, key))


def _without(value: Any, unknown: list[At]) -> Any:
    known = deepcopy(value)
    for at in unknown:
        inside = known
        for part in at[:-1]:
            inside = inside[part]
        del inside[at[-1]]
    return known


def _fault(section: type[Section], at: At, error: ErrorDetails) -> Fault:
    inside = error["loc"]
    if error["type"] == _UNKNOWN_FIELD:
        hint = did_you_mean(str(inside[-1]), fields_at(section, inside[:-1]))
        return Fault(Stage.STRICTNESS, f"unknown field {quoted(dotted(inside))}", (*at, *inside), hint)
    text = f"{dotted(inside)}: {_problem(error)}".removeprefix(": ")
    return Fault(Stage.DECODING, text, (*at, *inside), fix=partial(_fix, error["type"], error["input"]))


def _problem(error: ErrorDetails) -> str:
    kind, message = error["type"], error["msg"]
    if kind == "missing":
        return "must be given"
    if kind in _OWN_RULES:
        return message.removeprefix(_OWN_RULES[kind])
    rule = message.replace("Input should be ", "must be ", 1)
    if kind in _WANTED:
        rule = f"must be {_WANTED[kind].format(**error.get('ctx', {}))}"
    name = str(error["loc"][-1]) if error["loc"] else ""
    return f"{rule}, not {_shown(redacted(error['input'], name))}"


def _fix(kind: str, value: Any, word: str | None) -> str:
    if kind == "duration" and word is not None and type(value) in (int, float):
        return f"add a unit: {word}s"
    if kind in _QUOTABLE and word is not None and not isinstance(value, str):
        return f'YAML takes a bare {word} for {_shown(value)}; quote it: "{word}"'
    if kind in _NUMBERS and isinstance(value, str) and word is None:
        return "leave out the quotes" if value.strip("-").isdigit() else ""
    return ""


def _shown(value: Any) -> str:
    text = as_json(value)
    return f"{_kind(value)} {text}".strip() if len(text) <= 40 else _kind(value)


def _kind(value: Any) -> str:
    kinds = {bool: "the boolean", int: "the number", float: "the number", str: "the string", list: "a list"}
    return kinds.get(type(value), "a map" if isinstance(value, dict) else "")
