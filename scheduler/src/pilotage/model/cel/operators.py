"""Operators on values: arithmetic within 64 bits, comparison, membership."""

import math
import operator
from collections.abc import Callable
from typing import Any

from pilotage.model.cel.errors import EvaluationError, no_overload
from pilotage.model.cel.values import (
    INT_MAX,
    INT_MIN,
    MAPS,
    RECEIVERS,
    UINT_MAX,
    Duration,
    Timestamp,
    UInt,
    compare,
    find,
    integer,
    is_same,
)

Binary = Callable[[Any, Any], Any]

TIME_MIN, TIME_MAX = -62_135_596_800 * 10**9, 253_402_300_799 * 10**9 + 999_999_999


def unsigned(number: int) -> UInt:
    """Return an unsigned 64-bit integer, or raise."""
    if 0 <= number <= UINT_MAX:
        return UInt(number)
    raise EvaluationError("unsigned integer overflow")


def duration(nanos: int) -> Duration:
    """Return a duration within 64 bits of nanoseconds, or raise."""
    if INT_MIN <= nanos <= INT_MAX:
        return Duration(nanos)
    raise EvaluationError("integer overflow")


def timestamp(nanos: int) -> Timestamp:
    """Return a moment within the years 1 to 9999, or raise."""
    if TIME_MIN <= nanos <= TIME_MAX:
        return Timestamp(nanos)
    raise EvaluationError("timestamp overflow")


def _no_operator(kind: type, known: frozenset[type], name: str) -> EvaluationError:
    return no_overload("" if kind in known or kind in RECEIVERS else name)


ADDABLE = frozenset({int, UInt, float, str, bytes, tuple, Duration, Timestamp})


def add(left: Any, right: Any) -> Any:
    """Return left + right."""
    kind, other = type(left), type(right)
    if kind is int and other is int:
        return integer(left + right)
    if kind is other:
        if kind in (float, str, bytes, tuple):
            return left + right
        if kind is UInt:
            return unsigned(int(left) + int(right))
        if kind is Duration:
            return duration(left.nanos + right.nanos)
    if {kind, other} == {Duration, Timestamp}:
        return timestamp(left.nanos + right.nanos)
    raise _no_operator(kind, ADDABLE, "_+_")


def subtract(left: Any, right: Any) -> Any:
    """Return left - right."""
    kind, other = type(left), type(right)
    if kind is int and other is int:
        return integer(left - right)
    if kind is float and other is float:
        return left - right
    if kind is UInt and other is UInt:
        return unsigned(int(left) - int(right))
    if kind is Duration and other is Duration:
        return duration(left.nanos - right.nanos)
    if kind is Timestamp and other is Duration:
        return timestamp(left.nanos - right.nanos)
    if kind is Timestamp and other is Timestamp:
        return duration(left.nanos - right.nanos)
    raise _no_operator(kind, frozenset({int, UInt, float, Duration, Timestamp}), "_-_")


def multiply(left: Any, right: Any) -> Any:
    """Return left * right."""
    kind, other = type(left), type(right)
    if kind is other:
        if kind is int:
            return integer(left * right)
        if kind is float:
            return left * right
        if kind is UInt:
            return unsigned(int(left) * int(right))
    raise _no_operator(kind, frozenset({int, UInt, float}), "_*_")


def divide(left: Any, right: Any) -> Any:
    """Return left / right; integers are cut towards zero."""
    kind, other = type(left), type(right)
    if kind is other:
        if kind is float:
            return _float_division(left, right)
        if kind in (int, UInt):
            if right == 0:
                raise EvaluationError("division by zero")
            quotient = abs(left) // abs(right)
            if kind is UInt:
                return UInt(quotient)
            return integer(quotient if (left < 0) == (right < 0) else -quotient)
    raise _no_operator(kind, frozenset({int, UInt, float}), "_/_")


def _float_division(left: float, right: float) -> float:
    if right:
        return left / right
    if left == 0 or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


def modulo(left: Any, right: Any) -> Any:
    """Return left % right, with the sign of left."""
    kind, other = type(left), type(right)
    if kind is other and kind in (int, UInt):
        if right == 0:
            raise EvaluationError("modulus by zero")
        if left == INT_MIN and right == -1:
            raise EvaluationError("integer overflow")
        rest = abs(left) % abs(right)
        return UInt(rest) if kind is UInt else (-rest if left < 0 else rest)
    raise _no_operator(kind, frozenset({int, UInt}), "_%_")


def negate(value: Any) -> Any:
    """Return -value."""
    if type(value) is int:
        return integer(-value)
    if type(value) is float:
        return -value
    raise _no_operator(type(value), frozenset({bool}), "-_")


def negation(value: Any) -> bool:
    """Return !value."""
    if value is True:
        return False
    if value is False:
        return True
    raise no_overload()


def contains(element: Any, container: Any) -> bool:
    """Return element in container."""
    kind = type(container)
    if kind is tuple:
        return any(is_same(element, each) for each in container)
    if kind in MAPS:
        return find(container, element)[1]
    raise no_overload()


COMPARABLE = frozenset({int, UInt, float, str, bytes, bool, Duration, Timestamp})


def _ordered(name: str, verdict: Callable[[int, int], bool], quick: Binary) -> Binary:
    def decide(left: Any, right: Any) -> bool:
        kind = type(left)
        if kind is type(right) and kind in QUICK:
            return bool(quick(left, right))
        if kind not in COMPARABLE:
            raise no_overload(name)
        return verdict(compare(left, right), 0)

    return decide


QUICK = frozenset({int, str})
less = _ordered("_<_", operator.lt, operator.lt)
less_or_equal = _ordered("_<=_", operator.le, operator.le)
greater = _ordered("_>_", operator.gt, operator.gt)
greater_or_equal = _ordered("_>=_", operator.ge, operator.ge)

BINARY: dict[str, Binary] = {
    "_+_": add,
    "_-_": subtract,
    "_*_": multiply,
    "_/_": divide,
    "_%_": modulo,
    "_<_": less,
    "_<=_": less_or_equal,
    "_>_": greater,
    "_>=_": greater_or_equal,
    "@in": contains,
}
