"""Mean and deviation of a resource's usage, as shares of a node's allocatable amount."""

import numpy as np
from numpy.typing import NDArray

from pilotage.model.node_load import ResourceLoad

Floats = NDArray[np.float64]


def within(number: float, low: float = 0.0, high: float = 1.0) -> float:
    """Clamp a number to a range."""
    return max(low, min(high, number))


def mean_and_deviation(load: ResourceLoad, requested: float, capacity: float) -> tuple[float, float]:
    """Return both, including a pod with this request; 0 if there is no capacity."""
    if capacity <= 0:
        return 0.0, 0.0
    used = within(load.average, 0.0, 100.0) * capacity / 100.0
    return within((used + requested) / capacity), within(load.deviation / 100.0)


def means_and_deviations(
    average: Floats, deviation: Floats, requested: float, capacity: Floats
) -> tuple[Floats, Floats]:
    """Return the same for many nodes; NaN if not measured."""
    some = capacity > 0
    divisor = np.where(some, capacity, 1.0)
    used = np.clip(average, 0.0, 100.0) * capacity / 100.0
    means, deviations = np.clip((used + requested) / divisor, 0.0, 1.0), np.clip(deviation / 100.0, 0.0, 1.0)
    known = ~np.isnan(average)
    return np.where(some | ~known, means, 0.0), np.where(some | ~known, deviations, 0.0)
