"""Compiles operators: those that decide, and those that compute."""

from collections.abc import Callable
from typing import Any

from pilotage.model.cel import operators
from pilotage.model.cel.code import Code, constant, nodes_of
from pilotage.model.cel.environment import COMPOUND, Evaluate, Slots, size, spend
from pilotage.model.cel.errors import EvaluationError, no_overload
from pilotage.model.cel.values import Optional, equal


def _and(*parts: Code) -> Code:
    return Code(_logical([part.run for part in parts], decisive=False), nodes=nodes_of(list(parts)))


def _or(*parts: Code) -> Code:
    return Code(_logical([part.run for part in parts], decisive=True), nodes=nodes_of(list(parts)))


def _logical(runs: list[Evaluate], decisive: bool) -> Evaluate:
    """Return what joins conditions: the decisive value wins over errors, else the first error is raised."""
    neutral = not decisive

    def after_error(slots: Slots, start: int, error: EvaluationError) -> bool:
        for run in runs[start:]:
            try:
                if run(slots) is decisive:
                    return not neutral
            except EvaluationError:
                pass
        raise error

    def run_all(slots: Slots) -> bool:
        for place, run in enumerate(runs):
            try:
                value = run(slots)
            except EvaluationError as error:
                return after_error(slots, place + 1, error)
            if value is decisive:
                return not neutral
            if value is not neutral:
                return after_error(slots, place + 1, no_overload())
        return neutral

    return run_all


def _choice(condition: Code, then: Code, otherwise: Code) -> Code:
    test, first, second = condition.run, then.run, otherwise.run

    def run(slots: Slots) -> Any:
        value = test(slots)
        if value is True:
            return first(slots)
        if value is False:
            return second(slots)
        raise no_overload()

    return Code(run, nodes=nodes_of([condition, then, otherwise]))


def _equality(left: Code, right: Code) -> Code:
    first, second, expected = left.run, right.run, right.value
    nodes = left.nodes + right.nodes + 1
    if type(expected) is str:

        def equals_text(slots: Slots) -> bool:
            value = first(slots)
            return value == expected if type(value) is str else equal(value, expected)

        return Code(equals_text, nodes=nodes)

    def equals(slots: Slots) -> bool:
        value = first(slots)
        if type(value) in COMPOUND:
            spend(slots, size(value))
        return equal(value, second(slots))

    return Code(equals, nodes=nodes)


def _inequality(left: Code, right: Code) -> Code:
    first, second = left.run, right.run

    def differs(slots: Slots) -> bool:
        value, other = first(slots), second(slots)
        if type(value) in COMPOUND:
            spend(slots, size(value))
        try:
            return not equal(value, other)
        except EvaluationError:
            return True

    return Code(differs, nodes=left.nodes + right.nodes + 1)


def _binary(name: str) -> Callable[..., Code]:
    operate = operators.BINARY[name]

    def build(left: Code, right: Code) -> Code:
        first, second = left.run, right.run
        return Code(lambda slots: operate(first(slots), second(slots)), nodes=left.nodes + right.nodes + 1)

    return build


def _sum(left: Code, right: Code) -> Code:
    first, second = left.run, right.run

    def add(slots: Slots) -> Any:
        value = operators.add(first(slots), second(slots))
        if type(value) in COMPOUND:
            spend(slots, size(value))
        return value

    return Code(add, nodes=left.nodes + right.nodes + 1)


def _order(name: str) -> Callable[..., Code]:
    operate = operators.BINARY[name]

    def build(left: Code, right: Code) -> Code:
        first, second = left.run, right.run

        def compare(slots: Slots) -> bool:
            value, other = first(slots), second(slots)
            if type(value) in COMPOUND:
                spend(slots, size(value))
            return bool(operate(value, other))

        return Code(compare, nodes=left.nodes + right.nodes + 1)

    return build


def _membership(left: Code, right: Code) -> Code:
    first, second = left.run, right.run
    nodes = left.nodes + right.nodes + 1
    if right.is_literal and right.value == ():
        return constant(False)  # whatever is on the left, as cel-go does it
    if type(right.value) is tuple and all(type(each) is str for each in right.value):
        texts = frozenset(right.value)

        def is_text_in(slots: Slots) -> bool:
            value = first(slots)
            return type(value) is str and value in texts

        return Code(is_text_in, nodes=nodes)

    def is_in(slots: Slots) -> bool:
        value, container = first(slots), second(slots)
        if type(container) is tuple:
            spend(slots, size(container))
        return operators.contains(value, container)

    return Code(is_in, nodes=nodes)


def _alternative(is_value: bool) -> Callable[..., Code]:
    """Return optional.or() or optional.orValue(): the argument is evaluated only if there is no value."""

    def build(left: Code, right: Code) -> Code:
        first, second = left.run, right.run

        def run(slots: Slots) -> Any:
            optional = first(slots)
            if type(optional) is not Optional:
                raise no_overload()
            if optional.is_present:
                return optional.value if is_value else optional
            return second(slots)

        return Code(run, nodes=left.nodes + right.nodes + 1)

    return build


def _unary(operate: Callable[[Any], Any]) -> Callable[..., Code]:
    def build(operand: Code) -> Code:
        run = operand.run
        return Code(lambda slots: operate(run(slots)), nodes=operand.nodes + 1)

    return build


OPERATORS: dict[str, Callable[..., Code]] = {
    "_&&_": _and,
    "_||_": _or,
    "_?_:_": _choice,
    "_==_": _equality,
    "_!=_": _inequality,
    "!_": _unary(operators.negation),
    "-_": _unary(operators.negate),
    **{name: _binary(name) for name in operators.BINARY},
    **{name: _order(name) for name in ("_<_", "_<=_", "_>_", "_>=_")},
    "_+_": _sum,
    "@in": _membership,
}

SHORT_CIRCUITS: dict[str, Callable[..., Code]] = {
    "or": _alternative(is_value=False),
    "orValue": _alternative(is_value=True),
}
