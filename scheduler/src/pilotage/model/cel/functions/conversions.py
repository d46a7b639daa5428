"""Conversions between types, and size()."""

import math
import re
from typing import Any

from pilotage.model.cel.calls import declare
from pilotage.model.cel.errors import EvaluationError
from pilotage.model.cel.printing import float_text, shown
from pilotage.model.cel.times import written_duration, written_timestamp
from pilotage.model.cel.types import TYPE_VALUES
from pilotage.model.cel.values import INT_MAX, INT_MIN, UINT_MAX, CelType, Duration, Timestamp, UInt, type_name
from pilotage.model.go_float import finite_number

TRUE, FALSE = ("1", "t", "T", "true", "TRUE", "True"), ("0", "f", "F", "false", "FALSE", "False")
WHOLE = re.compile(r"[+-]?[0-9]{1,30}")


def _failed(value: Any, target: str) -> EvaluationError:
    return EvaluationError(f"type conversion error from '{type_name(value)}' to '{target}'")


def _int(value: Any) -> int:
    if type(value) is str:
        if WHOLE.fullmatch(value) and INT_MIN <= int(value) <= INT_MAX:
            return int(value)
        raise _failed(value, "int")
    if type(value) is float:
        if not math.isfinite(value) or not -(2.0**63) < value < 2.0**63:
            raise EvaluationError("integer overflow")
        return int(value)
    if int(value) > INT_MAX:
        raise EvaluationError("integer overflow")
    return int(value)


def _uint(value: Any) -> UInt:
    if type(value) is str:
        if WHOLE.fullmatch(value) and value[0] not in "+-" and int(value) <= UINT_MAX:
            return UInt(value)
        raise _failed(value, "uint")
    if type(value) is float:
        if not math.isfinite(value) or not 0 <= value < 2.0**64:
            raise EvaluationError("unsigned integer overflow")
        return UInt(int(value))
    if value < 0:
        raise EvaluationError("unsigned integer overflow")
    return UInt(value)


UNUSUAL = frozenset({"nan", "inf", "infinity"})


def _double(value: Any) -> float:
    if type(value) is not str:
        return float(value)
    number = finite_number(value)
    if number is not None:
        return number
    if value.lower().lstrip("+-") in UNUSUAL and len(value) < 10 and value[:2].lower() not in ("+n", "-n"):
        return float(value)
    raise _failed(value, "double")


def text_of(value: Any) -> str:
    """Return string(value)."""
    if type(value) is Duration:
        return written_duration(value)
    if type(value) is Timestamp:
        return written_timestamp(value)
    if type(value) is bytes:
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise EvaluationError("invalid UTF-8 in bytes, cannot convert to string") from None
    return float_text(value) if type(value) is float else shown(value)


def _bool(value: Any) -> bool:
    if type(value) is bool:
        return value
    if value in TRUE or value in FALSE:
        return value in TRUE
    raise _failed(value, "bool")


def _type(value: Any) -> CelType:
    name = type_name(value)
    return TYPE_VALUES.get(name) or CelType(name)


declare("dyn", ("(A) -> dyn", lambda value: value), sized=False)
declare("type", ("(A) -> type(A)", _type), sized=False)
declare("int", *[(f"({name}) -> int", _int) for name in ("int", "double", "string", "uint")])
declare("uint", *[(f"({name}) -> uint", _uint) for name in ("uint", "double", "int", "string")])
declare("double", *[(f"({name}) -> double", _double) for name in ("double", "int", "string", "uint")])
declare("string", *[(f"({name}) -> string", text_of) for name in ("string", "bool", "bytes", "double", "int", "uint")])
declare("bool", *[(f"({name}) -> bool", _bool) for name in ("bool", "string")])
declare("bytes", ("(bytes) -> bytes", lambda value: value), ("(string) -> bytes", str.encode))
SIZED = ("string", "bytes", "list(A)", "map(A, B)")
declare("size", *[(f"({name}) -> int", len) for name in SIZED], refusal="size", sized=False)
declare("size", *[(f"{name}.() -> int", len) for name in SIZED], refusal="size", sized=False)
