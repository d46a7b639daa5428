"""Functions by name and number of arguments, and how a call finds the one for its values."""

import re
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from pilotage.model.cel.environment import COMPOUND, Evaluate, Slots, size, spend
from pilotage.model.cel.errors import no_overload
from pilotage.model.cel.types import Type, read_type, read_types
from pilotage.model.cel.values import TYPE_NAMES

SIGNATURE = re.compile(r"(?:(?P<receiver>.+)\.)?(?P<arguments>\(.*\)) -> (?P<result>.+)")
PARAMETER = re.compile(r"[A-Z]")  # of a generic signature; takes any value


class Overload(Struct, frozen=True):
    """One signature of a function and what computes it."""

    parameters: tuple[Type, ...]  # the receiver first
    result: Type
    run: Callable[..., Any]


class Function(Struct, frozen=True):
    """All that a name can mean with so many arguments."""

    name: str
    is_method: bool
    overloads: tuple[Overload, ...]
    refusal: str  # what follows "no such overload" if no signature fits: CALL, the name, or nothing
    is_sized: bool  # whether the cost grows with its arguments
    by_kinds: dict[tuple[type, ...], Callable[..., Any] | None]  # what was found before


CALL = "call"  # the name and the types of the values
FUNCTIONS: dict[tuple[str, bool, int], Function] = {}


def declare(name: str, *overloads: tuple[str, Callable[..., Any]], refusal: str = CALL, sized: bool = True) -> None:
    """Add a function: signatures such as `string.(int) -> string`, each with what computes it."""
    for signature, run in overloads:
        match = SIGNATURE.fullmatch(signature)
        assert match, signature
        receiver = match["receiver"]
        parameters = read_types(match["arguments"][1:-1])
        if receiver:
            parameters = (read_type(receiver), *parameters)
        overload = Overload(parameters, read_type(match["result"]), run)
        key = (name, bool(receiver), len(parameters))
        before = FUNCTIONS[key].overloads if key in FUNCTIONS else ()
        FUNCTIONS[key] = Function(name, bool(receiver), (*before, overload), refusal, sized, {})


def function_named(name: str, is_method: bool, arguments: int) -> Function | None:
    """Return what a name means with so many arguments, the receiver counted."""
    return FUNCTIONS.get((name, is_method, arguments))


def called(function: Function, operands: Sequence[Evaluate]) -> Evaluate:
    """Return what evaluates a call."""
    if len(operands) == 2:
        return _called_with_two(function, *operands)
    is_sized = function.is_sized

    def run(slots: Slots) -> Any:
        values = [operand(slots) for operand in operands]
        compute = _chosen(function, tuple(map(type, values)))
        if is_sized:
            _charge(slots, values)
        return compute(*values)

    return run


def _called_with_two(function: Function, first: Evaluate, second: Evaluate) -> Evaluate:
    known, is_sized = function.by_kinds, function.is_sized

    def run(slots: Slots) -> Any:
        left, right = first(slots), second(slots)
        kinds = (type(left), type(right))
        compute = known.get(kinds) or _chosen(function, kinds)
        if is_sized:
            _charge(slots, (left, right))
        return compute(left, right)

    return run


def _charge(slots: Slots, values: Sequence[Any]) -> None:
    cost = 0
    for value in values:
        if type(value) in COMPOUND:
            cost += size(value)
    if cost:
        spend(slots, cost)


def _chosen(function: Function, kinds: tuple[type, ...]) -> Callable[..., Any]:
    try:
        found = function.by_kinds[kinds]
    except KeyError:
        found = next((each.run for each in function.overloads if _fits(each, kinds)), None)
        function.by_kinds[kinds] = found
    if found is None:
        call = f"{function.name}({', '.join(TYPE_NAMES[kind] for kind in kinds)})"
        raise no_overload(call if function.refusal == CALL else function.refusal)
    return found


def _fits(overload: Overload, kinds: tuple[type, ...]) -> bool:
    return all(
        parameter.name == "dyn" or PARAMETER.fullmatch(parameter.name) is not None or parameter.name == TYPE_NAMES[kind]
        for parameter, kind in zip(overload.parameters, kinds, strict=True)
    )
