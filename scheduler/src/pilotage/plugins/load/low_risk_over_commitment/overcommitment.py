"""The probability that the pods on a node use more than requested, or need more than the node has."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pilotage.model.node_load import ResourceLoad
from pilotage.plugins.load._shared.shares import mean_and_deviation, means_and_deviations, within
from pilotage.plugins.load.low_risk_over_commitment.beta import incomplete_beta, incomplete_beta_of

Floats = NDArray[np.float64]

WIDEST = 0.99  # of the maximum variance of a share with this mean
STEADY = 1e-9  # smaller deviations count as zero


def limit_risk(requested: float, limit: float, capacity: float) -> float:
    """Return the share of the limits above the requests that exceeds the node's capacity."""
    return (limit - capacity) / (limit - requested) if limit > capacity else 0.0


def limit_risks(requested: Floats, limit: Floats, capacity: Floats) -> Floats:
    """Return the same for many nodes."""
    too_much = limit > capacity
    return np.where(too_much, (limit - capacity) / np.where(too_much, limit - requested, 1.0), 0.0)


class Spread(NamedTuple):
    """The Beta distribution with a mean and a deviation; degenerate if the usage is steady."""

    mean: float
    deviation: float

    @property
    def is_steady(self) -> bool:
        """Return whether the deviation is zero."""
        return self.mean <= 0.0 or self.deviation < STEADY

    def below(self, share: float) -> float:
        """Return the probability that the usage is at most this share."""
        if self.is_steady:
            return 1.0 if self.mean <= share else 0.0
        strength = self.mean * (1.0 - self.mean) / self.deviation**2 - 1.0
        return incomplete_beta(self.mean * strength, (1.0 - self.mean) * strength, share)


def load_risk(load: ResourceLoad | None, requested: float, limit: float, capacity: float, window: int) -> float:
    """Return the probability that the placed pods use more than their requests, given their limits."""
    if load is None or capacity <= 0:
        return 0.0
    mean, deviation = mean_and_deviation(load, 0.0, capacity)
    spread = Spread(mean, min(deviation * math.sqrt(window), math.sqrt(WIDEST * mean * (1.0 - mean))))
    within_requests = 1.0 if spread.mean <= 0.0 else spread.below(within(requested / capacity))
    if limit < capacity and requested <= limit:
        if limit <= 0:
            within_requests = 1.0
        elif not spread.is_steady and (within_limits := spread.below(limit / capacity)) > 0.0:
            within_requests = within(within_requests / within_limits)
    return 1.0 - within_requests


def load_risks(
    average: Floats, deviation: Floats, requested: Floats, limit: Floats, capacity: Floats, window: int
) -> Floats:
    """Return the same for many nodes."""
    some = capacity > 0
    size = np.where(some, capacity, 1.0)
    means, deviations = means_and_deviations(average, deviation, 0.0, capacity)
    known = ~np.isnan(means) & some
    means, deviations = np.where(known, means, 0.0), np.where(known, deviations, 0.0)
    deviations = np.minimum(deviations * math.sqrt(window), np.sqrt(WIDEST * means * (1.0 - means)))
    shares, most = np.clip(requested / size, 0.0, 1.0), np.clip(limit / size, 0.0, 1.0)
    spread = (means > 0.0) & (deviations >= STEADY)
    within_requests = np.where(means <= shares, 1.0, 0.0)
    within_requests[spread] = _below(means[spread], deviations[spread], shares[spread])
    limited = (limit < capacity) & (requested <= limit)
    cut = limited & spread & (limit > 0)
    within_limits = np.ones(len(means))
    within_limits[cut] = _below(means[cut], deviations[cut], most[cut])
    sure = np.clip(within_requests / np.where(within_limits > 0.0, within_limits, 1.0), 0.0, 1.0)
    within_requests = np.where(cut & (within_limits > 0.0), sure, within_requests)
    certain = ~known | (means <= 0.0) | (limited & (limit <= 0))
    return 1.0 - np.where(certain, 1.0, within_requests)


def _below(mean: Floats, deviation: Floats, share: Floats) -> Floats:
    strength = mean * (1.0 - mean) / deviation**2 - 1.0
    return incomplete_beta_of(mean * strength, (1.0 - mean) * strength, share)
