"""Load metrics of a node."""

import math
from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

# Percent. Anything beyond is not a measurement, and arithmetic with it might overflow.
LARGEST_SHARE = 1e6


class ResourceLoad(NamedTuple):
    """The use of one resource over some minutes, in percent of what the node has."""

    average: float
    deviation: float = 0.0


class NodeLoad(NamedTuple):
    """What is known of one node; None for a resource that was not measured."""

    cpu: ResourceLoad | None = None
    memory: ResourceLoad | None = None
    until: float = 0.0  # when the measurement ended, in seconds since 1970

    @property
    def is_known(self) -> bool:
        """Return whether anything was measured at all."""
        return self.cpu is not None or self.memory is not None


Loads = Mapping[str, NodeLoad]  # by the node's name


def is_share(number: float) -> bool:
    """Return whether a number can be a measured share in percent."""
    return math.isfinite(number) and abs(number) <= LARGEST_SHARE


def seconds_since_1970(written: str | None) -> float | None:
    """Return the moment that an API object tells; None if it tells none."""
    try:
        moment = datetime.fromisoformat(written or "")
        return None if moment.tzinfo is None else moment.timestamp()
    except (ValueError, OverflowError):
        return None
