"""Finds all errors in a manifest, each with its path in Kubernetes' format."""

import json
import re
from collections.abc import Iterator
from typing import Any, TypeAlias

import msgspec

from pilotage.config.documents import At
from pilotage.config.faults import dotted
from pilotage.model.quantity import InvalidQuantity, parse

Fault: TypeAlias = tuple[str, str]  # a path, and the error

MOST = 20  # errors reported for one manifest
# The maps whose values are quantities, at any level.
QUANTITIES = frozenset(("requests", "limits", "capacity", "allocatable", "overhead", "allocatedResources"))
NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
LONGEST_NAME = 253

_TYPE_ERROR = re.compile(r"(?P<what>.*?)(?: - at `(?P<path>.*)`)?", re.DOTALL)
_EXPECTED = re.compile(r"Expected `(?P<wanted>[^`]*)`, got `(?P<got>[^`]*)`")
_MISSING = re.compile(r"Object missing required field `(?P<field>[^`]*)`")
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+)\]|\[(\.\.\.)\]")
_WORDS = {
    "array": "a list",
    "object": "a map",
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
}
_A_QUANTITY = "a whole number or a number or text"
_ANY_KEY = "..."


def type_faults(manifest: Any, kind: type[Any]) -> Iterator[Fault]:
    """Yield every value that has the wrong type, and remove it from the manifest."""
    seen: set[At] = set()
    while len(seen) < MOST:
        try:
            msgspec.convert(manifest, kind)
            return
        except msgspec.ValidationError as error:
            at, text = _told(str(error), manifest)
            if at in seen:
                return
            yield path(at), text
            seen.add(at)
            _drop(manifest, at)


def quantity_faults(value: Any, at: At = ()) -> Iterator[Fault]:
    """Yield every invalid or negative amount."""
    if isinstance(value, list):
        for index, inner in enumerate(value):
            yield from quantity_faults(inner, (*at, index))
    elif isinstance(value, dict):
        for key, inner in value.items():
            if key in QUANTITIES and isinstance(inner, dict):
                yield from _amount_faults(inner, (*at, key))
            elif isinstance(inner, (dict, list)):
                yield from quantity_faults(inner, (*at, key))


def name_faults(name: str, at: At) -> Iterator[Fault]:
    """Yield why a name is invalid."""
    if not name:
        yield path(at), "Required value: every object has a name"
    elif len(name) > LONGEST_NAME or not NAME.fullmatch(name):
        rule = "lower case letters and digits, with '-' and '.' between them, at most 253 in all (e.g. 'web-1')"
        yield path(at), f"Invalid value: {_shown(name)}: a name is made of {rule}"


def path(at: At) -> str:
    """Format a path like Kubernetes: spec.containers[0].resources.requests[cpu]."""
    if len(at) > 1 and isinstance(at[-2], str) and (at[-2] in QUANTITIES or at[-2] in ("labels", "annotations")):
        return f"{dotted(at[:-1])}[{at[-1]}]"
    return dotted(at)


def _amount_faults(amounts: dict[str, Any], at: At) -> Iterator[Fault]:
    for name, amount in amounts.items():
        if isinstance(amount, bool) or not isinstance(amount, (str, int, float)):
            continue  # reported as a type error
        try:
            negative = parse(amount).nanos < 0
        except InvalidQuantity as error:
            yield path((*at, name)), str(error)
        else:
            if negative:
                text = f'Invalid value: "{amount}": must be greater than or equal to 0'
                yield path((*at, name)), text


def _told(message: str, manifest: Any) -> tuple[At, str]:
    found = _TYPE_ERROR.fullmatch(message)
    assert found is not None
    expected, missing = _EXPECTED.search(found["what"]), _MISSING.search(found["what"])
    at = _at(found["path"] or "", manifest, expected["got"] if expected else "")
    if missing:
        return (*at, missing["field"]), "Required value"
    if expected is None:
        return at, found["what"]
    wanted = " or ".join(_WORDS.get(word, word) for word in expected["wanted"].split(" | ") if word != "null")
    wanted = "a quantity" if wanted == _A_QUANTITY else wanted
    hint = "; put it into quotes" if wanted == "text" and expected["got"] in ("int", "float", "bool") else ""
    return at, f"this must be {wanted}, not {_shown(_value(manifest, at))}{hint}"


def _at(written: str, manifest: Any, got: str) -> At:
    at: At = ()
    for field, index, any_key in _STEP.findall(written.removeprefix("$")):
        at = (*at, _key_with(_value(manifest, at), got)) if any_key else (*at, field or int(index))
    return at


def _key_with(values: Any, got: str) -> str:
    """Return the first key whose value has the unexpected type; the error does not name it."""
    types = {"array": list, "object": dict, "str": str, "int": int, "float": float, "bool": bool, "null": type(None)}
    entries = values.items() if isinstance(values, dict) else ()
    return next((str(key) for key, value in entries if type(value) is types.get(got)), _ANY_KEY)


def _value(manifest: Any, at: At) -> Any:
    value = manifest
    for step in at:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _drop(manifest: Any, at: At) -> None:
    inside = _value(manifest, at[:-1]) if at else None
    if isinstance(inside, dict):
        inside.pop(at[-1], None)
    elif isinstance(inside, list):
        inside[int(at[-1])] = {}  # replaced, so that the other items keep their indices


def _shown(value: Any) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 40 else f"{text[:40]}..."
