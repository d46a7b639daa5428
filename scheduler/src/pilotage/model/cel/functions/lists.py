"""Lists: order, parts, sums and search."""

import operator
from collections.abc import Callable
from functools import reduce
from itertools import pairwise
from typing import Any

from pilotage.model.cel.calls import declare
from pilotage.model.cel.environment import Slots, spend
from pilotage.model.cel.errors import EvaluationError, no_overload
from pilotage.model.cel.loops import sorted_by
from pilotage.model.cel.operators import add
from pilotage.model.cel.types import COMPARABLE
from pilotage.model.cel.values import (
    COMPARABLE_KINDS,
    NONE,
    Duration,
    Optional,
    UInt,
    compare,
    is_same,
)

LONGEST_RANGE = 1_000_000

Values = tuple[Any, ...]


def _slice(values: Values, start: int, end: int) -> Values:
    shown = f"cannot slice({start}, {end}), "
    if start < 0 or end < 0:
        raise EvaluationError(f"{shown}negative indexes not supported")
    if start > end:
        raise EvaluationError(f"{shown}start index must be less than or equal to end index")
    if len(values) < end:
        raise EvaluationError(f"{shown}list is length {len(values)}")
    return values[start:end]


def _flatten(values: Any, depth: Any = 1) -> Values:
    if depth < 0:
        raise EvaluationError("level must be non-negative")
    found: list[Any] = []
    for each in values:
        if type(each) is tuple and depth > 0:
            found += _flatten(each, depth - 1)
        else:
            found.append(each)
    return tuple(found)


def _distinct(slots: Slots, values: Values) -> Values:
    spend(slots, 2 * len(values) ** 2)
    found: list[Any] = []
    for each in values:
        if not any(is_same(each, other) for other in found):
            found.append(each)
    return tuple(found)


def _range(slots: Slots, count: int) -> Values:
    if count < 0:
        raise EvaluationError(f"lists.range: size must be non-negative, got {count}")
    if count > LONGEST_RANGE:
        raise EvaluationError(f"lists.range: size {count} exceeds maximum allowed ({LONGEST_RANGE})")
    spend(slots, count + 1)
    return tuple(range(count))


def _sort(slots: Slots, values: Any) -> Values:
    if type(values) is not tuple:
        raise no_overload()
    spend(slots, 2 * len(values) ** 2)  # as kube-scheduler counts it
    return sorted_by(values, list(values))


def _is_sorted(values: Values) -> bool:
    _require_order(values)
    for before, after in pairwise(values):
        try:
            if compare(before, after) > 0:
                return False
        except EvaluationError:
            continue  # what has no order among each other counts as sorted
    return True


def _require_order(values: Values) -> None:
    if any(type(each) not in COMPARABLE_KINDS for each in values):
        raise no_overload()


def _extreme(name: str, preferred: int) -> Callable[[Values], Any]:
    def find(values: Values) -> Any:
        _require_order(values)
        if not values:
            raise EvaluationError(f"{name} called on empty list")
        return reduce(better, values)

    def better(best: Any, other: Any) -> Any:
        try:
            return other if compare(best, other) == preferred else best
        except EvaluationError:
            return best

    return find


def _sum(zero: Any) -> Callable[[Values], Any]:
    return lambda values: reduce(add, values, zero)


def _index_of(values: Values, wanted: Any) -> int:
    return next((place for place, each in enumerate(values) if is_same(each, wanted)), -1)


def _last_index_of(values: Values, wanted: Any) -> int:
    return next((place for place in reversed(range(len(values))) if is_same(values[place], wanted)), -1)


def _includes(value: Any, wanted: Any) -> bool:
    return any(is_same(each, wanted) for each in value) if type(value) is tuple else is_same(value, wanted)


def _first(values: Values) -> Optional:
    return Optional(values[0], True) if values else NONE


def _last(values: Values) -> Optional:
    return Optional(values[-1], True) if values else NONE


ZEROS = {"int": 0, "uint": UInt(0), "double": 0.0, "google.protobuf.Duration": Duration(0)}

declare("slice", ("list(T).(int, int) -> list(T)", _slice))
declare("flatten", ("list(list(T)).() -> list(T)", _flatten), ("list(dyn).(int) -> list(dyn)", _flatten))
declare("distinct", ("list(T).() -> list(T)", _distinct), metered=True)
declare("reverse", ("list(T).() -> list(T)", operator.itemgetter(slice(None, None, -1))))
declare("lists.range", ("(int) -> list(int)", _range), metered=True)
declare("sort", *[(f"list({each}).() -> list({each})", _sort) for each in COMPARABLE], refusal="sort", metered=True)
declare("first", ("list(V).() -> optional_type(V)", _first))
declare("last", ("list(V).() -> optional_type(V)", _last))
declare("isSorted", *[(f"list({each}).() -> bool", _is_sorted) for each in COMPARABLE])
declare("sum", *[(f"list({name}).() -> {name}", _sum(zero)) for name, zero in ZEROS.items()])
declare("max", *[(f"list({each}).() -> {each}", _extreme("max", -1)) for each in COMPARABLE])
declare("min", *[(f"list({each}).() -> {each}", _extreme("min", 1)) for each in COMPARABLE])
declare("indexOf", ("list(A).(A) -> int", _index_of))
declare("lastIndexOf", ("list(A).(A) -> int", _last_index_of))
declare("includes", ("dyn.(dyn) -> bool", _includes))
