"""What an evaluation carries: a list of slots for the device, what is left of the cost limit, and variables."""

from collections.abc import Callable
from typing import Any

from pilotage.model.cel.values import MAPS, Domains, Optional

Slots = list[Any]
Evaluate = Callable[[Slots], Any]

DEVICE, BUDGET, FIRST_VARIABLE = 0, 1, 2
SIGNS_PER_UNIT = 10  # of a text
NESTING_COST = 8  # of a part that has parts


class CostExceeded(Exception):
    """The evaluation has used up its cost limit; nothing in the expression can absorb that."""


def spend(slots: Slots, cost: int) -> None:
    """Take this much from the budget."""
    slots[BUDGET] -= cost
    if slots[BUDGET] < 0:
        raise CostExceeded


def size(value: Any) -> int:
    """Return what it costs to look at all of a value: the number of its parts, those within parts count more."""
    kind = type(value)
    if kind is tuple:
        return len(value) + sum(NESTING_COST + size(each) for each in value if type(each) in COMPOUND)
    if kind is dict or kind is Domains:
        return len(value) + sum(NESTING_COST + size(each) for each in value.values() if type(each) in COMPOUND)
    if kind is str or kind is bytes:
        return len(value) // SIGNS_PER_UNIT
    if kind is Optional:
        return NESTING_COST + size(value.value)
    return 0


COMPOUND = frozenset({tuple, str, bytes, Optional}) | MAPS
