"""Parses floating-point numbers like Go: 10, .5, 1e-3, 0x1p-2, 1_000."""

import math
import re

LONGEST = 256  # characters; parsing stays fast below this

DIGITS, HEX_DIGITS = "[0-9]+(?:_[0-9]+)*", "[0-9a-fA-F]+(?:_[0-9a-fA-F]+)*"
DECIMAL = re.compile(rf"[+-]?(?:{DIGITS}(?:\.(?:{DIGITS})?)?|\.{DIGITS})(?:[eE][+-]?{DIGITS})?")
HEX = re.compile(rf"[+-]?0[xX]_?(?:{HEX_DIGITS}(?:\.(?:{HEX_DIGITS})?)?|\.{HEX_DIGITS})[pP][+-]?{DIGITS}")


def finite_number(text: str) -> float | None:
    """Return the number that a text represents; None if it is not a number, infinite or too large."""
    if len(text) > LONGEST:
        return None
    plain = text.replace("_", "")
    try:
        if DECIMAL.fullmatch(text):
            number = float(plain)
        elif HEX.fullmatch(text):
            number = float.fromhex(plain)
        else:
            return None
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
