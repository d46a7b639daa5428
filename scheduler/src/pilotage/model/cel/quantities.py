"""Quantities as expressions see them: exact, and aware of how they were written."""

import re
from functools import lru_cache

from pilotage.model.quantity import BINARY_POWERS, DECIMAL_POWERS

# The API accepts any size; an amount beyond these counts as the last one within them, or loses its last digits.
STEEPEST = 999  # powers of ten
MOST_DIGITS = 300  # before and after the point
LONGEST_EXPONENT = 18  # digits, which fit into 64 bits
SMALL_DIGITS = 18  # a decimal amount of so many digits fits into 64 bits whatever they are
FINEST = -9  # kube-scheduler rounds finer digits up
LARGEST, SMALLEST = 2**63 - 1, -(2**63)
REMEMBERED, LONGEST_REMEMBERED = 1 << 14, 64  # texts, and characters of one

FORM = re.compile(r"([+-]?)0*([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)")
EXPONENT = re.compile(r"[eE]([+-]?[0-9]+)")
WRONG_FORM = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
WRONG_NUMBER = "unable to parse numeric part of quantity"
WRONG_SUFFIX = "unable to parse quantity's suffix"


class InvalidCelQuantity(ValueError):
    """The text is not a quantity, in kube-scheduler's words."""


class CelQuantity:
    """An amount as digits times a power of ten; `is_small` amounts can be integers, others never are."""

    __slots__ = ("digits", "is_made", "is_small", "power")

    def __init__(self, digits: int, power: int, is_small: bool, is_made: bool = False) -> None:
        self.digits = digits
        self.power = power
        self.is_small = is_small
        self.is_made = is_made  # by add or sub; kube-scheduler cannot compare such amounts on the right of ==

    @staticmethod
    def parse(text: str) -> "CelQuantity":
        """Return the quantity of a text, or raise InvalidCelQuantity."""
        return _remembered(text) if len(text) <= LONGEST_REMEMBERED else _parse(text)

    def key(self) -> tuple[int, int, bool]:
        """Return what tells this from quantities that some expression could tell from it."""
        return self.digits, self.power, self.is_small

    def compare(self, other: "CelQuantity") -> int:
        """Return -1, 0 or 1, like the sign of the difference."""
        mine, theirs = _aligned(self, other)
        return (mine > theirs) - (mine < theirs)

    def integer(self) -> int | None:
        """Return the amount as 64-bit integer, None if its spelling does not allow that."""
        if not self.is_small or self.power < 0:
            return None
        number = int(self.digits * 10**self.power)
        return number if SMALLEST <= number <= LARGEST else None

    def approximate_float(self) -> float:
        """Return the nearest float, rounded as Go rounds: the digits first, then the power."""
        try:
            number = float(self.digits)
        except OverflowError:
            number = float("inf") if self.digits > 0 else float("-inf")
        return number * float(f"1e{self.power}") if self.power else number

    def plus(self, other: "CelQuantity", factor: int = 1) -> "CelQuantity":
        """Return the sum of this and so many times the other amount."""
        if other.digits == 0 and other.is_small and self.is_small:
            return CelQuantity(self.digits, self.power, True, is_made=True)
        if self.digits == 0 and self.is_small and other.is_small:
            return CelQuantity(factor * other.digits, other.power, True, is_made=True)
        power = min(self.power, other.power)
        mine, theirs = _aligned(self, other)
        total = mine + factor * theirs
        fits = all(SMALLEST <= number <= LARGEST for number in (mine, theirs, total))
        return CelQuantity(total, power, self.is_small and other.is_small and fits, is_made=True)

    def __str__(self) -> str:
        """Return a plain decimal text."""
        return f"{self.digits}e{self.power}" if self.power else str(self.digits)


@lru_cache(maxsize=REMEMBERED)
def _remembered(text: str) -> CelQuantity:
    return _parse(text)


def _parse(text: str) -> CelQuantity:
    match = FORM.fullmatch(text) if text else None
    if match is None:
        raise InvalidCelQuantity(WRONG_FORM)
    sign, whole, fraction, suffix = (part or "" for part in match.groups())
    power, is_binary = _scale(suffix)
    factor = -1 if sign else 1
    factor = 1 if sign == "+" else factor
    has_digits = bool(whole or fraction or text.strip("+-")[:1] == "0")
    if len(whole) + len(fraction) > MOST_DIGITS:
        fraction = fraction[:MOST_DIGITS]
        cut = max(len(whole) - MOST_DIGITS, 0)
        digits = int(whole[: len(whole) - cut] + fraction or "0") * 10 ** min(cut, STEEPEST)
    else:
        digits = int(whole + fraction or "0")
    length = (len(whole) or 1) + len(fraction)
    if is_binary:
        amount = _small_binary(digits, length, len(fraction), power)
    elif length <= SMALL_DIGITS and power - len(fraction) >= FINEST:
        amount = CelQuantity(digits, power - len(fraction), True)
    else:
        amount = None
    if amount is None:
        if not has_digits:
            raise InvalidCelQuantity(WRONG_NUMBER)
        amount = _large(
            digits << power if is_binary else digits, (0 if is_binary else power) - len(fraction), is_binary
        )
    return CelQuantity(factor * amount.digits, amount.power, amount.is_small)


def _scale(suffix: str) -> tuple[int, bool]:
    """Return the power of a suffix, and whether it is one of two instead of ten."""
    if suffix in DECIMAL_POWERS:
        return DECIMAL_POWERS[suffix], False
    if suffix in BINARY_POWERS:
        return BINARY_POWERS[suffix], True
    match = EXPONENT.fullmatch(suffix)
    if match is None or len(match[1]) > LONGEST_EXPONENT:
        raise InvalidCelQuantity(WRONG_SUFFIX)
    return max(-STEEPEST, min(STEEPEST, int(match[1]))), False


def _small_binary(digits: int, length: int, places: int, power: int) -> CelQuantity | None:
    room = 15 - length - power * 3 // 10 - 1
    number = digits << power
    return CelQuantity(number, 0, True) if places == 0 and room >= 0 and number <= LARGEST else None


def _large(digits: int, power: int, is_binary: bool) -> CelQuantity:
    if power < FINEST:
        digits, power = -(-digits // 10 ** (FINEST - power)), FINEST
    if is_binary and digits > LARGEST * 10**-power:
        digits, power = LARGEST, 0
    return CelQuantity(digits, power, False)


def _aligned(left: CelQuantity, right: CelQuantity) -> tuple[int, int]:
    if left.power == right.power:
        return left.digits, right.digits
    power = min(left.power, right.power)
    return left.digits * 10 ** (left.power - power), right.digits * 10 ** (right.power - power)
