"""Prints values as they appear in error messages and conversions."""

import math
from typing import Any

from pilotage.model.cel.values import CelType, of_key


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
    """Return a number as strconv.FormatFloat(x, 'g', -1, 64) writes it."""
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "+Inf" if number > 0 else "-Inf"
    digits = repr(number)
    mantissa, _, exponent = digits.partition("e")
    if exponent:
        power = int(exponent)
    else:
        whole = mantissa.lstrip("-").partition(".")[0]
        power = len(whole) - 1 if whole != "0" else _small_power(mantissa)
    if -5 < power < 21:
        text = f"{number:.17f}" if exponent and power < 0 else digits
        if exponent:
            text = (
                f"{number:.0f}"
                if power > 0
                else f"{number:.{len(mantissa.replace('-', '').replace('.', '')) - 1 - power}f}"
            )
        return text.removesuffix(".0")
    if not exponent:
        mantissa, _, _ = f"{number:.16e}".partition("e")
        mantissa = repr(float(mantissa))
    return f"{mantissa.removesuffix('.0')}e{'+' if power >= 0 else '-'}{abs(power):02d}"


def _small_power(mantissa: str) -> int:
    fraction = mantissa.partition(".")[2]
    return -(len(fraction) - len(fraction.lstrip("0")) + 1) if fraction.strip("0") else 0
