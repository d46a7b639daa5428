"""Prints values as they appear in error messages and conversions."""

import math
from decimal import Decimal
from typing import Any

from pilotage.model.cel.values import CelType, of_key

MOST_DIGITS, LEAST_POWER = 6, -4  # beyond these a number is written with an exponent


def shown(value: Any) -> str:
    """Return a value as Go prints it in a message."""
    kind = type(value)
    if kind is bool:
        return "true" if value else "false"
    if kind is float:
        return float_text(value)
    if value is None:
        return "null"
    if kind is bytes:
        return "[" + " ".join(str(each) for each in value) + "]"
    if kind is tuple:
        return "[" + ", ".join(map(shown, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{shown(of_key(key))}: {shown(each)}" for key, each in value.items()) + "}"
    if kind is CelType:
        return str(value.name)
    return str(value)


def float_text(number: float) -> str:
    """Return the shortest digits of a number, as Go's %g has them."""
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "+Inf" if number > 0 else "-Inf"
    sign, places, exponent = Decimal(repr(number)).as_tuple()
    assert isinstance(exponent, int)
    digits = "".join(map(str, places)).lstrip("0").rstrip("0")
    power = Decimal(repr(number)).adjusted() if digits else 0
    minus = "-" if sign else ""
    if not digits:
        return f"{minus}0"
    if LEAST_POWER <= power < MOST_DIGITS:
        return f"{minus}{_plain(digits, power)}"
    rest = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{minus}{digits[0]}{rest}e{'-' if power < 0 else '+'}{abs(power):02d}"


def _plain(digits: str, power: int) -> str:
    if power < 0:
        return f"0.{'0' * (-power - 1)}{digits}"
    whole, fraction = digits[: power + 1].ljust(power + 1, "0"), digits[power + 1 :]
    return f"{whole}.{fraction}" if fraction else whole
