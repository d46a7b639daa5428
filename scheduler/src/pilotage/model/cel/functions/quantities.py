"""Quantities: quantity(text), comparison and arithmetic."""

from typing import Any

from pilotage.model.cel.calls import declare
from pilotage.model.cel.errors import EvaluationError
from pilotage.model.cel.quantities import CelQuantity, InvalidCelQuantity


def _quantity(text: str) -> CelQuantity:
    try:
        return CelQuantity.parse(text)
    except InvalidCelQuantity as error:
        raise EvaluationError(str(error)) from error


def _is_quantity(text: str) -> bool:
    try:
        CelQuantity.parse(text)
    except InvalidCelQuantity:
        return False
    return True


def _as_integer(amount: CelQuantity) -> int:
    number = amount.integer()
    if number is None:
        raise EvaluationError("cannot convert value to integer")
    return number


def _amount(other: Any) -> CelQuantity:
    return other if isinstance(other, CelQuantity) else CelQuantity(other, 0, True)


def _greater(amount: CelQuantity, other: CelQuantity) -> bool:
    return amount.compare(other) > 0


def _less(amount: CelQuantity, other: CelQuantity) -> bool:
    return amount.compare(other) < 0


def _sign(amount: CelQuantity) -> int:
    return (amount.digits > 0) - (amount.digits < 0)


def _sum(amount: CelQuantity, other: Any) -> CelQuantity:
    return amount.plus(_amount(other))


def _difference(amount: CelQuantity, other: Any) -> CelQuantity:
    return amount.plus(_amount(other), -1)


declare("quantity", ("(string) -> quantity", _quantity))
declare("isQuantity", ("(string) -> bool", _is_quantity))
declare("sign", ("(quantity) -> int", _sign), sized=False)
declare("isInteger", ("quantity.() -> bool", lambda amount: amount.integer() is not None), sized=False)
declare("asInteger", ("quantity.() -> int", _as_integer), sized=False)
declare("asApproximateFloat", ("quantity.() -> double", CelQuantity.approximate_float), sized=False)
declare("isGreaterThan", ("quantity.(quantity) -> bool", _greater), sized=False)
declare("isLessThan", ("quantity.(quantity) -> bool", _less), sized=False)
declare("compareTo", ("quantity.(quantity) -> int", CelQuantity.compare), sized=False)
declare("add", ("quantity.(quantity) -> quantity", _sum), ("quantity.(int) -> quantity", _sum), sized=False)
declare(
    "sub", ("quantity.(quantity) -> quantity", _difference), ("quantity.(int) -> quantity", _difference), sized=False
)
