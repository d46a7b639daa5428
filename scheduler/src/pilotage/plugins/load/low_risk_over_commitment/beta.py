"""The regularised incomplete beta function: the probability that a Beta-distributed share is below a limit.

Evaluates the continued fraction of the function by Lentz's method. It converges fast below the mean; above it, the
other tail is computed. For one number, and for many at once.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

CLOSE = 1e-14  # the relative change at which the iteration stops
TINY = 1e-300  # replaces a zero divisor
MOST_STEPS = 2000
# Above this the normal distribution is as good, and the continued fraction would converge slowly.
NARROW = 1e5


def incomplete_beta(a: float, b: float, x: float) -> float:
    """Return I_x(a, b); a and b are positive, x is clamped to 0..1."""
    if x <= 0.0 or x >= 1.0:
        return 0.0 if x <= 0.0 else 1.0
    if a + b > NARROW:
        return _as_normal(a, b, x)
    if x > (a + 1.0) / (a + b + 2.0):
        return 1.0 - _tail(b, a, 1.0 - x)
    return _tail(a, b, x)


def incomplete_beta_of(a: Floats, b: Floats, x: Floats) -> Floats:
    """Return the same for many."""
    found = np.where(x <= 0.0, 0.0, 1.0)
    inside = np.flatnonzero((x > 0.0) & (x < 1.0))
    narrow = a[inside] + b[inside] > NARROW
    for place in inside[narrow].tolist():
        found[place] = _as_normal(float(a[place]), float(b[place]), float(x[place]))
    rest = inside[~narrow]
    a, b, x = a[rest], b[rest], x[rest]
    other = x > (a + 1.0) / (a + b + 2.0)
    tails = _tails(np.where(other, b, a), np.where(other, a, b), np.where(other, 1.0 - x, x))
    found[rest] = np.where(other, 1.0 - tails, tails)
    return found


def _as_normal(a: float, b: float, x: float) -> float:
    mean = a / (a + b)
    deviation = math.sqrt(mean * (1.0 - mean) / (a + b + 1.0))
    if deviation <= 0.0:
        return 1.0 if mean <= x else 0.0
    return 0.5 * math.erfc((mean - x) / (deviation * math.sqrt(2.0)))


def _tail(a: float, b: float, x: float) -> float:
    c, d = 1.0, 1.0 / _nonzero(1.0 - (a + b) * x / (a + 1.0))
    fraction = d
    for m in range(1, MOST_STEPS + 1):
        before = fraction
        for term in _terms(a, b, x, m):
            d = 1.0 / _nonzero(1.0 + term * d)
            c = _nonzero(1.0 + term / c)
            fraction *= c * d
        if abs(fraction - before) <= CLOSE * abs(fraction):
            break
    return min(1.0, max(0.0, _front(a, b, x) * fraction))


def _tails(a: Floats, b: Floats, x: Floats) -> Floats:
    found = np.zeros(len(a))
    front = np.fromiter(map(_front, a.tolist(), b.tolist(), x.tolist()), np.float64, len(a))
    open_: NDArray[np.intp] = np.arange(len(a))
    c: Floats = np.ones(len(a))
    d = 1.0 / _nonzeros(1.0 - (a + b) * x / (a + 1.0))
    fraction = d.copy()
    for m in range(1, MOST_STEPS + 1):
        if not len(open_):
            break
        before = fraction
        for term in _terms(a, b, x, m):
            d = 1.0 / _nonzeros(1.0 + term * d)
            c = _nonzeros(1.0 + term / c)
            fraction = fraction * (c * d)
        found[open_] = fraction
        going = np.abs(fraction - before) > CLOSE * np.abs(fraction)
        open_ = open_[going]
        a, b, x, c, d, fraction = (each[going] for each in (a, b, x, c, d, fraction))
    return np.clip(front * found, 0.0, 1.0)


def _terms(a: Any, b: Any, x: Any, m: int) -> tuple[Any, Any]:
    """Return the two terms of the continued fraction at a step, for one number or for an array of them."""
    twice = 2 * m
    even = m * (b - m) * x / ((a + twice - 1.0) * (a + twice))
    odd = -(a + m) * (a + b + m) * x / ((a + twice) * (a + twice + 1.0))
    return even, odd


def _front(a: float, b: float, x: float) -> float:
    logarithm = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    return math.exp(logarithm) / a


def _nonzero(number: float) -> float:
    return number if abs(number) > TINY else TINY


def _nonzeros(numbers: Floats) -> Floats:
    return np.where(np.abs(numbers) > TINY, numbers, TINY)
