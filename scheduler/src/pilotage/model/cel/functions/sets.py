"""Lists taken as sets."""

from typing import Any

from pilotage.model.cel.calls import declare
from pilotage.model.cel.environment import Slots, spend
from pilotage.model.cel.values import is_same

Values = tuple[Any, ...]


def _has(values: Values, wanted: Any) -> bool:
    return any(is_same(wanted, each) for each in values)


def _contains(slots: Slots, values: Values, parts: Values) -> bool:
    spend(slots, len(values) * len(parts))
    return all(_has(values, each) for each in parts)


def _equivalent(slots: Slots, left: Values, right: Values) -> bool:
    return _contains(slots, left, right) and _contains(slots, right, left)


def _intersects(slots: Slots, left: Values, right: Values) -> bool:
    spend(slots, len(left) * len(right))
    return any(_has(right, each) for each in left)


declare("sets.contains", ("(list(T), list(T)) -> bool", _contains), metered=True)
declare("sets.equivalent", ("(list(T), list(T)) -> bool", _equivalent), metered=True)
declare("sets.intersects", ("(list(T), list(T)) -> bool", _intersects), metered=True)
