"""Load metrics of a node."""

import math
from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

# Percent. Larger numbers are not measurements, and arithmetic with them might overflow.
LARGEST_SHARE = 1e6


class ResourceLoad(NamedTuple):
    """The usage of one resource over some minutes, in percent of the node's capacity."""

    average: float
    deviation: float = 0.0


class NodeLoad(NamedTuple):
    """The load of one node; None for a resource that was not measured."""

    cpu: ResourceLoad | None = None
    memory: ResourceLoad | None = None
    until: float = 0.0  # when the measurement ended, in seconds since 1970

    @property
    def is_known(self) -> bool:
        """Return whether anything was measured."""
        return self.cpu is not None or self.memory is not None


Loads = Mapping[str, NodeLoad]  # by the node's name


def is_share(number: float) -> bool:
    """Return whether a number is a plausible percentage."""
    return math.isfinite(number) and abs(number) <= LARGEST_SHARE


def seconds_since_1970(written: str | None) -> float | None:
    """Return the time of an API timestamp; None if it is missing or invalid."""
    try:
        moment = datetime.fromisoformat(written or "")
        return None if moment.tzinfo is None else moment.timestamp()
    except (ValueError, OverflowError):
        return None
