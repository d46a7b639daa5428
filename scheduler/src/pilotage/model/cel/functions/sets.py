"""Lists taken as sets."""

from typing import Any

from pilotage.model.cel.calls import declare
from pilotage.model.cel.environment import CostExceeded
from pilotage.model.cel.functions.lists import MOST_PAIRS
from pilotage.model.cel.values import is_same

Values = tuple[Any, ...]


def _has(values: Values, wanted: Any) -> bool:
    return any(is_same(wanted, each) for each in values)


def _limit(left: Values, right: Values) -> None:
    if len(left) * len(right) > MOST_PAIRS:
        raise CostExceeded


def _contains(values: Values, parts: Values) -> bool:
    _limit(values, parts)
    return all(_has(values, each) for each in parts)


def _equivalent(left: Values, right: Values) -> bool:
    return _contains(left, right) and _contains(right, left)


def _intersects(left: Values, right: Values) -> bool:
    _limit(left, right)
    return any(_has(right, each) for each in left)


declare("sets.contains", ("(list(T), list(T)) -> bool", _contains))
declare("sets.equivalent", ("(list(T), list(T)) -> bool", _equivalent))
declare("sets.intersects", ("(list(T), list(T)) -> bool", _intersects))
