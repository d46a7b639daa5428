"""Computes a result once for each distinct value instead of once for each node."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from pilotage.framework.api.nodes import Ids

Thing = TypeVar("Thing")
Number = TypeVar("Number", np.bool_, np.int64)


def answer_for_each(
    ids: Ids, things: Sequence[Thing], answer: Callable[[Thing], bool | int], kind: type[Number]
) -> NDArray[Number]:
    """Return the result for each node; its id indexes the values."""
    # A few changed nodes do not need the values of all others.
    used: Iterable[int] = range(len(things)) if len(things) <= len(ids) else set(ids.tolist())
    answers = np.zeros(len(things), kind)
    for each in used:
        answers[each] = answer(things[each])
    return answers[ids]
