"""Kubernetes quantities, parsed exactly."""

import re
from fractions import Fraction
from functools import lru_cache
from math import ceil

GRAMMAR = re.compile(r"([+-]?)(\d+\.?\d*|\.\d+)(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?\d{1,20}))?", re.ASCII)
SCALES = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 10**3),
    **{suffix: Fraction(1000**power) for power, suffix in enumerate("kMGTPE", start=1)},
    **{suffix: Fraction(1024**power) for power, suffix in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), start=1)},
}
LARGEST = Fraction(2**63 - 1)  # the API caps here too
LONGEST = 300  # characters; more is an attack, not a quantity
STEEPEST = 400  # an exponent past this cannot change a capped value


class BadQuantity(ValueError):
    """The text is not a quantity."""


@lru_cache(maxsize=4096)
def parse(text: str) -> Fraction:
    """Return the exact value of a quantity, capped at 2^63-1 as the API caps it."""
    match = GRAMMAR.fullmatch(text) if len(text) <= LONGEST else None
    if match is None:
        raise BadQuantity(f"{text[:40]!r} is not a quantity")
    sign, digits, suffix, exponent = match.groups()
    value = Fraction(digits) * scale(suffix, exponent)
    return max(-LARGEST, min(LARGEST, -value if sign == "-" else value))


def scale(suffix: str | None, exponent: str | None) -> Fraction:
    """Return what the digits are multiplied with."""
    if exponent is not None:
        return Fraction(10) ** max(-STEEPEST, min(STEEPEST, int(exponent)))
    return SCALES[suffix] if suffix else Fraction(1)


def units(resource: str, value: Fraction) -> int:
    """Return the value in the unit that schedulers count in, rounded up: thousandths for cpu, whole ones otherwise."""
    return ceil(value * 1000) if resource == "cpu" else ceil(value)


def shown(resource: str, amount: int) -> str:
    """Return the amount as a person writes it."""
    if resource == "cpu":
        return f"{amount}m"
    if resource in ("memory", "ephemeral-storage") or resource.startswith("hugepages-"):
        for suffix in ("Gi", "Mi", "Ki"):
            if amount and amount % SCALES[suffix] == 0:
                return f"{amount // int(SCALES[suffix])}{suffix}"
    return str(amount)
