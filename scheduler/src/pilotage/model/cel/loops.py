"""The macros that bind variables, as closures."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from pilotage.model.cel.environment import BUDGET, CostExceeded, Evaluate, Slots, size, spend
from pilotage.model.cel.errors import EvaluationError, no_overload
from pilotage.model.cel.printing import shown
from pilotage.model.cel.values import (
    COMPARABLE_KINDS,
    MAPS,
    NONE,
    Optional,
    find,
    go_name,
    key_of,
    of_key,
    type_name,
)


class Loop(NamedTuple):
    """What a macro is made of."""

    name: str
    operand: Evaluate
    variables: tuple[int, ...]  # slots
    bodies: tuple[Evaluate, ...]
    cost: int  # of a turn


class Failed(NamedTuple):
    """The value of a variable that could not be computed."""

    text: str


def bound_variable(slot: int) -> Evaluate:
    """Return what reads a variable of cel.bind."""

    def read(slots: Slots) -> Any:
        value = slots[slot]
        if type(value) is Failed:
            raise EvaluationError(value.text)
        return value

    return read


def turns(loop: Loop) -> Callable[[Slots], Iterable[Any]]:
    """Return what steps through the operand with the variables set, pays for each turn, and gives the first one."""
    operand, cost, first = loop.operand, loop.cost, loop.variables[0]
    second = loop.variables[1] if len(loop.variables) > 1 else None

    def one(slots: Slots) -> Iterable[Any]:
        for item in _items(operand(slots)):
            slots[BUDGET] -= cost
            if slots[BUDGET] < 0:
                raise CostExceeded
            slots[first] = item
            yield item

    def two(slots: Slots) -> Iterable[Any]:
        assert second is not None
        for key, value in _pairs(operand(slots)):
            slots[BUDGET] -= cost
            if slots[BUDGET] < 0:
                raise CostExceeded
            slots[first], slots[second] = key, value
            yield key

    return one if second is None else two


def _items(value: Any) -> Iterable[Any]:
    if type(value) is tuple:
        return value
    if type(value) in MAPS:
        return [of_key(key) for key in value]
    raise EvaluationError(f"got '{go_name(value)}', expected iterable type")


def _pairs(value: Any) -> Iterable[tuple[Any, Any]]:
    if type(value) is tuple:
        return enumerate(value)
    if type(value) in MAPS:
        return [(of_key(key), each) for key, each in value.items()]
    raise EvaluationError(f"unsupported comprehension range type: {go_name(value)}")


def _deciding(decisive: bool) -> Callable[[Loop], Evaluate]:
    """Return all (False decides) or exists (True does): what decides wins over errors, else the first is raised."""

    neutral = not decisive

    def build(loop: Loop) -> Evaluate:
        steps, body = turns(loop), loop.bodies[0]

        def run(slots: Slots) -> bool:
            failure: EvaluationError | None = None
            for _ in steps(slots):
                try:
                    value = body(slots)
                except EvaluationError as error:
                    failure = failure or error
                    continue
                if value is decisive:
                    return not neutral
                if type(value) is not bool:
                    failure = failure or no_overload()
            if failure is not None:
                raise failure
            return neutral

        return run

    return build


def _is_true(value: Any) -> bool:
    if value is True or value is False:
        return bool(value)
    raise no_overload()


def _passing(loop: Loop) -> Callable[[Slots, Callable[[Any], None]], None]:
    """Return what hands each first variable whose condition holds to a collector.

    The error of the last condition that failed is raised in the end, or else the collector's first error.
    """
    steps = turns(loop)
    condition = loop.bodies[0] if len(loop.bodies) > 1 or loop.name in TESTS else None

    def run(slots: Slots, collect: Callable[[Any], None]) -> None:
        failure: EvaluationError | None = None
        for item in steps(slots):
            try:
                holds = condition is None or _is_true(condition(slots))
            except EvaluationError as error:
                failure = error
                continue
            if not holds or failure is not None:
                continue
            try:
                collect(item)
            except EvaluationError as error:
                failure = error
        if failure is not None:
            raise failure

    return run


TESTS = frozenset({"existsOne", "filter"})  # their only body is the condition


def _exists_one(loop: Loop) -> Evaluate:
    passing = _passing(loop)

    def run(slots: Slots) -> bool:
        found: list[Any] = []
        passing(slots, found.append)
        return len(found) == 1

    return run


def _transformed(loop: Loop) -> Evaluate:
    """Return map or transformList: the last body for each element that passes the condition before it."""
    passing, body = _passing(loop), loop.bodies[-1]

    def run(slots: Slots) -> Any:
        found: list[Any] = []
        passing(slots, lambda _: found.append(body(slots)))
        return _charged(slots, tuple(found))

    return run


def _filtered(loop: Loop) -> Evaluate:
    passing = _passing(loop)

    def run(slots: Slots) -> Any:
        found: list[Any] = []
        passing(slots, found.append)
        return _charged(slots, tuple(found))

    return run


def _mapped(loop: Loop) -> Evaluate:
    """Return transformMap: the same keys with other values."""
    passing, body = _passing(loop), loop.bodies[-1]

    def run(slots: Slots) -> Any:
        found: dict[Any, Any] = {}

        def collect(key: Any) -> None:
            found[key_of(key)] = body(slots)

        passing(slots, collect)
        return _charged(slots, found)

    return run


def _entered(loop: Loop) -> Evaluate:
    """Return transformMapEntry: each body is a map whose entries are added."""
    passing, body = _passing(loop), loop.bodies[-1]

    def run(slots: Slots) -> Any:
        found: dict[Any, Any] = {}

        def collect(_: Any) -> None:
            entries = body(slots)
            if type(entries) not in MAPS:
                raise no_overload()
            for key, value in entries.items():
                if find(found, of_key(key))[1]:
                    raise EvaluationError(f"insert failed: key {shown(of_key(key))} already exists")
                found[key] = value

        passing(slots, collect)
        return _charged(slots, found)

    return run


def _bound(loop: Loop) -> Evaluate:
    operand, variable, body = loop.operand, loop.variables[0], loop.bodies[0]

    def run(slots: Slots) -> Any:
        try:
            slots[variable] = operand(slots)
        except EvaluationError as error:
            slots[variable] = Failed(str(error))  # matters only if the variable is used
        return body(slots)

    return run


def _optional(is_flat: bool) -> Callable[[Loop], Evaluate]:
    def build(loop: Loop) -> Evaluate:
        operand, variable, body = loop.operand, loop.variables[0], loop.bodies[0]

        def run(slots: Slots) -> Any:
            value = operand(slots)
            if type(value) is not Optional:
                raise no_overload(f"hasValue({type_name(value)})")
            if not value.is_present:
                return NONE
            slots[variable] = value.value
            result = body(slots)
            return result if is_flat else Optional(result, True)

        return run

    return build


def _sorted_by(loop: Loop) -> Evaluate:
    steps, body, operand = turns(loop), loop.bodies[0], loop.operand

    def run(slots: Slots) -> Any:
        keys = [body(slots) for _ in steps(slots)]
        values = operand(slots)
        if type(values) is not tuple:
            raise no_overload()
        spend(slots, 2 * len(keys) ** 2)  # as kube-scheduler counts it
        return sorted_by(values, keys)

    return run


def sorted_by(values: tuple[Any, ...], keys: list[Any]) -> tuple[Any, ...]:
    """Return values in the order of their keys, which must be of one type with an order."""
    if not keys:
        return values
    kind = type(keys[0])
    if kind not in COMPARABLE_KINDS:
        raise EvaluationError("list elements must be comparable")
    if any(type(key) is not kind for key in keys):
        raise EvaluationError("list elements must have the same type")
    return tuple(values[place] for place in sorted(range(len(keys)), key=keys.__getitem__))


def _charged(slots: Slots, value: Any) -> Any:
    spend(slots, size(value))
    return value


LOOPS: dict[str, Callable[[Loop], Evaluate]] = {
    "all": _deciding(False),
    "exists": _deciding(True),
    "existsOne": _exists_one,
    "map": _transformed,
    "filter": _filtered,
    "transformList": _transformed,
    "transformMap": _mapped,
    "transformMapEntry": _entered,
    "bind": _bound,
    "optMap": _optional(is_flat=False),
    "optFlatMap": _optional(is_flat=True),
    "sortBy": _sorted_by,
}
