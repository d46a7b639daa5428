"""Fields and elements of values."""

from typing import Any

from pilotage.model.cel.errors import EvaluationError
from pilotage.model.cel.printing import shown
from pilotage.model.cel.values import KEYS, MAPS, NONE, Domains, Optional, UInt, find, go_name, type_name


def is_key(value: Any) -> bool:
    """Return whether a value can be looked up."""
    return type(value) in KEYS


def no_key(value: Any) -> EvaluationError:
    """Return the error of a value that cannot be looked up."""
    return EvaluationError(f"invalid qualifier type: {go_name(value)}")


def field(value: Any, name: Any) -> Any:
    """Return value[name] or value.name, or raise."""
    kind = type(value)
    if kind is Optional:
        return optional_field(value, name)
    found, is_there = _looked_up(value, name)
    if is_there:
        return found
    if kind is tuple:
        raise EvaluationError(f"index out of bounds: {shown(name)}")
    raise EvaluationError(f"no such key: {shown(name)}")


def optional_field(value: Any, name: Any) -> Optional:
    """Return value[?name] or value.?name."""
    if type(value) is Optional:
        if not value.is_present:
            return NONE
        value = value.value
    found, is_there = _looked_up(value, name)
    return Optional(found, True) if is_there else NONE


def has_field(value: Any, name: str) -> bool:
    """Return has(value.name)."""
    if type(value) is Optional:
        return value.is_present and has_field(value.value, name)
    return _looked_up(value, name)[1]


def _looked_up(value: Any, name: Any) -> tuple[Any, bool]:
    if type(name) not in KEYS:
        raise no_key(name)
    kind = type(value)
    if kind in MAPS:
        if kind is Domains:
            return value[name], True  # an unknown domain is empty, whatever its name is
        return find(value, name)
    if kind is tuple:
        place = index(name)
        return (value[place], True) if 0 <= place < len(value) else (None, False)
    return None, False


def index(name: Any) -> int:
    """Return the position that a value stands for, or raise."""
    kind = type(name)
    if kind is int or kind is UInt:
        return int(name)
    if kind is float:
        if name == name and abs(name) < 2**63 and name == int(name):
            return int(name)
        raise EvaluationError(f"unsupported index value {shown(name)} in list")
    raise EvaluationError(f"unsupported index type '{type_name(name)}' in list")
