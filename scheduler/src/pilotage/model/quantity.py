"""Kubernetes quantities: amounts such as 500m, 2Gi or 1e3, parsed exactly into integers."""

import re
from enum import Enum
from functools import lru_cache

from msgspec import Struct

NANOS = 10**9  # in one unit; finer digits round up
NANOS_IN_MILLI = 10**6
LARGEST, SMALLEST = 2**63 - 1, -(2**63)
HUGE = LARGEST >> 7  # 64 Pi: sums and percentages of smaller amounts fit into 64 bits

LONGEST = 256  # characters; the regular expression and the arithmetic stay fast below this
STEEPEST = 99  # powers of ten; far more than 64 bits hold, and small enough to compute
REMEMBERED = 1 << 16  # distinct texts; a cluster has hundreds, a hostile one must not fill the memory

BINARY_POWERS = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
DECIMAL_POWERS = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
# ASCII digits only. Digits may be missing anywhere: Go accepts "1.", ".5", and even "." and "Ki", which are 0.
GRAMMAR = re.compile(r"([+-]?)([0-9]*)\.?([0-9]*)(?:([KMGTPE]i)|([numkMGTPE]?)|[eE]([+-]?[0-9]+))")


class InvalidQuantity(ValueError):
    """The text is not a quantity."""

    def __init__(self, text: str, reason: str) -> None:
        shown = repr(text) if len(text) <= 40 else f"{text[:40]!r}... ({len(text)} characters)"
        super().__init__(f"{shown} is not a quantity: {reason}")


class Form(Enum):
    """The suffix family of a quantity, kept for printing."""

    DECIMAL = "DecimalSI"
    BINARY = "BinarySI"
    EXPONENT = "DecimalExponent"


class Quantity(Struct, frozen=True, gc=False):
    """An exact amount in billionths, and its form for printing."""

    nanos: int
    form: Form = Form.DECIMAL

    def value(self) -> int:
        """Return the amount in whole units, rounded away from zero, within 64 bits."""
        return whole(self.nanos, NANOS)

    def milli_value(self) -> int:
        """Return the amount in thousandths, rounded away from zero, within 64 bits."""
        return whole(self.nanos, NANOS_IN_MILLI)

    def __str__(self) -> str:
        """Return the canonical text, as kubectl prints it."""
        whole, rest = divmod(self.nanos, NANOS)
        # Binary suffixes would round fractions, and do not exist below 1Ki.
        if self.form is Form.BINARY and rest == 0 and abs(whole) >= 1024:
            number, power = _without_factor(whole, 1024, at_most=6)
            return f"{number}{['', *BINARY_POWERS][power]}"
        if self.form is Form.EXPONENT:
            number, power = _without_factor(self.nanos, 1000)
            return f"{number}e{3 * power - 9}" if number and power != 3 else str(number)
        number, power = _without_factor(self.nanos, 1000, at_most=9)
        return f"{number}{list(DECIMAL_POWERS)[power]}" if number else "0"


@lru_cache(maxsize=REMEMBERED)
def parse(written: str | int | float) -> Quantity:
    """Return the quantity of a text or a plain JSON number, or raise InvalidQuantity."""
    text = str(written)
    match = GRAMMAR.fullmatch(text) if 0 < len(text) <= LONGEST else None
    if match is None:
        raise InvalidQuantity(text, "write it like 2, 0.5, 500m, 1e3 or 4Gi")
    sign, whole, fraction, binary, decimal, exponent = match.groups()
    power, form = _scale(text, binary, decimal, exponent)
    if not whole + fraction and (power < -9 or binary in ("Pi", "Ei")):
        raise InvalidQuantity(text, "it has no digits")  # at these scales Go requires a digit, at others not
    nanos = _nanos(int(whole + fraction or "0"), len(fraction), power, form)
    if form is Form.BINARY and 0 < nanos < NANOS:
        form = Form.DECIMAL  # binary suffixes cannot represent it
    return Quantity(-nanos if sign == "-" else nanos, form)


@lru_cache(maxsize=REMEMBERED)
def value_of(written: str | int | float) -> int:
    """Return a quantity in whole units: bytes, pods, devices."""
    return parse(written).value()


@lru_cache(maxsize=REMEMBERED)
def milli_value_of(written: str | int | float) -> int:
    """Return a quantity in thousandths: millicores."""
    return parse(written).milli_value()


def from_value(value: int, form: Form = Form.DECIMAL) -> Quantity:
    """Return the quantity of a number of whole units."""
    return Quantity(value * NANOS, form)


def from_milli_value(value: int, form: Form = Form.DECIMAL) -> Quantity:
    """Return the quantity of a number of thousandths."""
    return Quantity(value * NANOS_IN_MILLI, form)


def _scale(text: str, binary: str | None, decimal: str | None, exponent: str | None) -> tuple[int, Form]:
    if binary:
        return BINARY_POWERS[binary], Form.BINARY
    if exponent is None:
        return DECIMAL_POWERS[decimal or ""], Form.DECIMAL
    if abs(int(exponent)) > STEEPEST:
        # Go accepts 1e999 and then counts it as 0; a huge request must not count as none.
        raise InvalidQuantity(text, f"its exponent is beyond {STEEPEST}")
    return int(exponent), Form.EXPONENT


def _nanos(digits: int, places: int, power: int, form: Form) -> int:
    # Division rounds up, so that even the smallest request is never zero.
    if form is Form.BINARY:
        nanos = -(-(digits * NANOS << power) // _power_of_ten(places))
        return min(nanos, LARGEST * NANOS)  # only this family is capped; the others keep any size until converted
    shift = power + 9 - places
    return digits * _power_of_ten(shift) if shift >= 0 else -(-digits // _power_of_ten(-shift))


def _power_of_ten(power: int) -> int:
    return int(10**power)


def whole(nanos: int, unit: int) -> int:
    """Return an amount in units of the given number of billionths, rounded away from zero, within 64 bits."""
    # On overflow Go yields 0 or a wrapped number, so that a pod that requests 10E would fit everywhere; clamping to
    # 64 bits rejects it.
    rounded = -(-nanos // unit) if nanos >= 0 else nanos // unit
    return rounded if SMALLEST <= rounded <= LARGEST else LARGEST if rounded > 0 else SMALLEST


def _without_factor(number: int, factor: int, at_most: int = LONGEST) -> tuple[int, int]:
    times = 0
    while number and times < at_most and number % factor == 0:
        number, times = number // factor, times + 1
    return number, times
