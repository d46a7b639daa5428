"""Rounding like Go, half away from zero, for non-negative numbers."""

import math

import numpy as np
from numpy.typing import NDArray

from pilotage.framework.api.nodes import Ints


def rounded(number: float) -> int:
    """Return the nearest whole number."""
    return math.floor(number + 0.5)


def all_rounded(numbers: NDArray[np.float64]) -> Ints:
    """Return the same for many."""
    return np.floor(numbers + 0.5).astype(np.int64)
