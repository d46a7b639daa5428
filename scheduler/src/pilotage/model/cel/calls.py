"""Functions by name and number of arguments, and how a call finds the one for its values."""

import re
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from pilotage.model.cel.environment import COMPOUND, Evaluate, Slots, size, spend
from pilotage.model.cel.errors import no_overload
from pilotage.model.cel.types import Type, read_type, read_types
from pilotage.model.cel.values import RECEIVERS, TYPE_NAMES

SIGNATURE = re.compile(r"(?:(?P<receiver>.+)\.)?(?P<arguments>\(.*\)) -> (?P<result>.+)")
PARAMETER = re.compile(r"\b[A-Z]\b")  # of a generic signature; takes any value
CALL = "call"  # a refusal that shows the name and the types of the values

Compute = Callable[..., Any]


class Signature(Struct, frozen=True):
    """What a function takes and gives."""

    is_method: bool
    parameters: tuple[Type, ...]  # the receiver first
    result: Type
    variables: tuple[str, ...]  # the capital letters in it


class Overload(Struct, frozen=True):
    """One signature of a function and what computes it."""

    signature: Signature
    run: Compute


class Function(Struct, frozen=True):
    """All that a name can mean with so many arguments."""

    name: str
    is_method: bool
    overloads: tuple[Overload, ...]
    refusal: str  # what follows "no such overload" if no signature fits: CALL, a name, or nothing
    is_sized: bool  # whether the cost grows with its arguments
    is_metered: bool  # whether it takes the slots first, and pays by itself
    by_kinds: dict[tuple[type, ...], Compute]  # what was found before


FUNCTIONS: dict[tuple[str, bool, int], Function] = {}
SIGNATURES: dict[str, list[Signature]] = {}


def declare(
    name: str, *overloads: tuple[str, Compute], refusal: str = CALL, sized: bool = True, metered: bool = False
) -> None:
    """Add a function: signatures such as `string.(int) -> string`, each with what computes it."""
    for text, run in overloads:
        overload = Overload(signature(text), run)
        SIGNATURES.setdefault(name, []).append(overload.signature)
        key = (name, overload.signature.is_method, len(overload.signature.parameters))
        before = FUNCTIONS[key].overloads if key in FUNCTIONS else ()
        FUNCTIONS[key] = Function(name, key[1], (*before, overload), refusal, sized, metered, {})


def signature(text: str) -> Signature:
    """Return the signature that a text spells."""
    match = SIGNATURE.fullmatch(text)
    assert match, text
    parameters = read_types(match["arguments"][1:-1])
    if match["receiver"]:
        parameters = (read_type(match["receiver"]), *parameters)
    variables = tuple(sorted(set(PARAMETER.findall(text))))
    return Signature(bool(match["receiver"]), parameters, read_type(match["result"]), variables)


def signatures_of(name: str) -> tuple[Signature, ...]:
    """Return all signatures of a function or method."""
    return tuple(SIGNATURES.get(name, ()))


def function_named(name: str, is_method: bool, arguments: int) -> Function | None:
    """Return what a name means with so many arguments, the receiver counted."""
    return FUNCTIONS.get((name, is_method, arguments))


def narrowed(function: Function, fitting: frozenset[Signature] | None) -> Function:
    """Return a function with only those overloads that the types of a call leave."""
    if not fitting or len(fitting) == len(function.overloads):
        return function
    overloads = tuple(each for each in function.overloads if each.signature in fitting)
    return replace(function, overloads=overloads, by_kinds={}) if overloads else function


def called(function: Function, operands: Sequence[Evaluate], refusal: str | None = None) -> Evaluate:
    """Return what evaluates a call; a refusal replaces the function's."""
    refusal = function.refusal if refusal is None else refusal
    if len(operands) == 2 and not function.is_metered:
        return _called_with_two(function, operands[0], operands[1], refusal)
    is_sized, is_metered = function.is_sized, function.is_metered

    def run(slots: Slots) -> Any:
        values = [operand(slots) for operand in operands]
        compute = _chosen(function, values, refusal)
        if is_sized:
            _charge(slots, values)
        return compute(slots, *values) if is_metered else compute(*values)

    return run


def _called_with_two(function: Function, first: Evaluate, second: Evaluate, refusal: str) -> Evaluate:
    known, is_sized = function.by_kinds, function.is_sized

    def run(slots: Slots) -> Any:
        left, right = first(slots), second(slots)
        compute = known.get((type(left), type(right))) or _chosen(function, (left, right), refusal)
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


def _chosen(function: Function, values: Sequence[Any], refusal: str) -> Compute:
    """Return what computes a function for these values; what does not depend on the elements of lists is remembered."""
    kinds = tuple(map(type, values))
    found = function.by_kinds.get(kinds)
    if found is None:
        found = next((each.run for each in function.overloads if _fits(function, each, values)), None)
        if found is not None and tuple not in kinds:
            function.by_kinds[kinds] = found
    if found is None:
        receiver = function.overloads[0].signature.parameters[0]
        if refusal != CALL and (kinds[0] in RECEIVERS or TYPE_NAMES[kinds[0]] == receiver.name):
            refusal = ""  # it is the argument that does not fit, or the receiver that answers
        if function.name == "flatten":
            shown, *rest = [TYPE_NAMES[kind] for kind in kinds]
            raise no_overload(f"{shown}.flatten({', '.join(rest)})")
        call = f"{function.name}({', '.join(TYPE_NAMES[kind] for kind in kinds)})"
        raise no_overload(call if refusal == CALL else refusal)
    return found


def _fits(function: Function, overload: Overload, values: Sequence[Any]) -> bool:
    if function.name in UNGUARDED and type(values[0]) is tuple:
        values = ((), *values[1:])
    return all(map(_is_of, overload.signature.parameters, values))


UNGUARDED = frozenset({"flatten", "sort"})  # these look at the elements themselves


def _is_of(wanted: Type, value: Any) -> bool:
    """Return whether a value can be of a type; of a list only the first element is looked at."""
    if wanted.name == "dyn" or PARAMETER.fullmatch(wanted.name):
        return True
    if wanted.name != TYPE_NAMES[type(value)]:
        return False
    return type(value) is not tuple or not value or _is_of(wanted.parameters[0], value[0])
