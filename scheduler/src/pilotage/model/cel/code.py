"""A compiled part of an expression."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from pilotage.model.cel.environment import Evaluate

NOT_CONSTANT: Any = object()


class Code(NamedTuple):
    """A compiled node: what evaluates it, and what is known of it."""

    run: Evaluate
    value: Any = NOT_CONSTANT
    nodes: int = 1
    failure: str = ""  # why it always fails
    is_literal: bool = False  # written as a constant
    is_planned: bool = False  # a literal, or a conversion of one: what cel-go computes before it runs


def constant(value: Any) -> Code:
    """Return the code of a value that never changes."""
    return Code(lambda slots: value, value)


def nodes_of(parts: Sequence[Code]) -> int:
    """Return how many nodes something with these parts has."""
    return 1 + sum(part.nodes for part in parts)
