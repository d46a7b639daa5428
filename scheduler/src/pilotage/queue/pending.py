"""How the queue is told in numbers."""

from typing import NamedTuple


class Pending(NamedTuple):
    """How many pods wait, by place."""

    active: int
    backoff: int
    unschedulable: int
    gated: int
