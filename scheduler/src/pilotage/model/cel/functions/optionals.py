"""Optional values; or() and orValue() are operators, because they evaluate their argument only if they must."""

from typing import Any

from pilotage.model.cel.calls import declare
from pilotage.model.cel.errors import EvaluationError
from pilotage.model.cel.printing import shown
from pilotage.model.cel.values import NONE, Duration, Optional, Timestamp

Values = tuple[Any, ...]


def _of(value: Any) -> Optional:
    return Optional(value, True)


def _of_non_zero(value: Any) -> Optional:
    is_zero = value in (Duration(0), Timestamp(0))
    is_plain = value is None or isinstance(value, bool | int | float | str | bytes | tuple | dict)
    return NONE if is_zero or (is_plain and not value) else Optional(value, True)


def _value(optional: Optional) -> Any:
    if not optional.is_present:
        raise EvaluationError("optional.none() dereference")
    return optional.value


def _unwrap(values: Values) -> Values:
    for each in values:
        if type(each) is not Optional:
            raise EvaluationError(f"value {shown(each)} is not optional")
    return tuple(each.value for each in values if each.is_present)


declare("optional.of", ("(V) -> optional_type(V)", _of), sized=False)
declare("optional.ofNonZeroValue", ("(V) -> optional_type(V)", _of_non_zero), sized=False)
declare("optional.none", ("() -> optional_type(V)", lambda: NONE), sized=False)
declare("optional.unwrap", ("(list(optional_type(V))) -> list(V)", _unwrap))
declare("unwrapOpt", ("list(optional_type(V)).() -> list(V)", _unwrap))
declare("value", ("optional_type(V).() -> V", _value), sized=False)
declare("hasValue", ("optional_type(V).() -> bool", lambda optional: optional.is_present), sized=False)
