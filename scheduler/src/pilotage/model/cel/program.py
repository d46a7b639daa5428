"""Turns the tree of an expression into closures: each takes the slots of an evaluation and returns a value."""

from collections.abc import Callable
from typing import Any, NamedTuple

from pilotage.model.cel import operators
from pilotage.model.cel.access import field, has_field, is_key, no_key, optional_field
from pilotage.model.cel.calls import Function, called, function_named
from pilotage.model.cel.environment import BUDGET, COMPOUND, FIRST_VARIABLE, CostExceeded, Evaluate, Slots, size, spend
from pilotage.model.cel.errors import CompileError, EvaluationError, no_overload
from pilotage.model.cel.loops import LOOPS, Loop, bound_variable
from pilotage.model.cel.pattern_machine import pattern
from pilotage.model.cel.pattern_syntax import InvalidPattern, UnsupportedPattern
from pilotage.model.cel.places import Problem, refused
from pilotage.model.cel.syntax import (
    Call,
    Index,
    ListLiteral,
    Literal,
    Macro,
    MapLiteral,
    Name,
    Node,
    Select,
    qualified_name,
)
from pilotage.model.cel.types import TYPE_VALUES
from pilotage.model.cel.values import NONE, Optional, equal, key_of

MOMENTS = frozenset({"timestamp", "duration"})
CONVERSIONS = MOMENTS | {"int", "uint", "double", "string", "bytes", "bool", "dyn", "type"}
PATTERNS = frozenset({"matches", "find", "findAll"})
FOLDING_BUDGET = 10_000  # of what is computed while compiling
NOT_CONSTANT: Any = object()
DEVICE_FIELDS = ("driver", "allowMultipleAllocations", "attributes", "capacity")


class Code(NamedTuple):
    """A compiled node: what evaluates it, and what is known of it."""

    run: Evaluate
    value: Any = NOT_CONSTANT
    nodes: int = 1
    failure: str = ""  # why it always fails
    is_literal: bool = False  # written as a constant
    is_planned: bool = False  # a literal, or a conversion of one: what cel-go computes before it runs


class Program(NamedTuple):
    """A compiled expression and how many slots it needs."""

    run: Evaluate
    slots: int


def program(source: str, node: Node) -> Program:
    """Compile a tree; raise CompileError for names that do not exist."""
    compiler = _Compiler(source)
    code = compiler.compile(node, {})
    return Program(code.run, compiler.slots)


Scope = dict[str, Evaluate]  # what reads each variable


class _Compiler:
    def __init__(self, source: str) -> None:
        self._source = source
        self._budget = FOLDING_BUDGET
        self.slots = FIRST_VARIABLE

    def compile(self, node: Node, scope: Scope) -> Code:
        match node:
            case Literal():
                return _constant(node.value)._replace(is_literal=True, is_planned=True)
            case Name():
                return self._name(node, scope)
            case Select():
                return self._select(node, scope)
            case Index():
                return self._index(node, scope)
            case Call():
                return self._call(node, scope)
            case ListLiteral():
                return self._list(node, scope)
            case MapLiteral():
                return self._map(node, scope)
            case Macro():
                return self._macro(node, scope)

    def _undeclared(self, name: str, at: int) -> Exception:
        return refused(self._source, Problem(at, f"undeclared reference to '{name}' (in container '')"))

    def _name(self, node: Name, scope: Scope) -> Code:
        if (variable := scope.get(node.name)) is not None:
            return Code(variable)
        if node.name == "device":
            return Code(lambda slots: slots[0].as_map())
        if node.name in TYPE_VALUES:
            return _constant(TYPE_VALUES[node.name])
        raise self._undeclared(node.name, node.at)

    def _select(self, node: Select, scope: Scope) -> Code:
        name = qualified_name(node)
        if name is not None and name in TYPE_VALUES and name.partition(".")[0] not in scope:
            return _constant(TYPE_VALUES[name])
        if node.operand == Name("device", getattr(node.operand, "at", -1)) and "device" not in scope:
            return self._device_field(node)
        operand = self.compile(node.operand, scope)
        run, key = operand.run, node.field
        if node.is_test:
            code = Code(lambda slots: has_field(run(slots), key), nodes=operand.nodes)
        elif node.is_optional:
            code = Code(lambda slots: optional_field(run(slots), key), nodes=operand.nodes + 1)
        else:
            code = Code(_field_of(node.operand, scope, run, key), nodes=operand.nodes + 1)
        return self._folded(code, operand)

    def _device_field(self, node: Select) -> Code:
        if node.field not in DEVICE_FIELDS:
            raise refused(self._source, Problem(node.at, f"undefined field '{node.field}'"))
        if node.is_test:
            return Code(lambda slots: True)
        code = DEVICE_CODE[node.field]
        if node.is_optional:
            return Code(lambda slots: Optional(code(slots), True))
        return Code(code)

    def _index(self, node: Index, scope: Scope) -> Code:
        operand, key = self.compile(node.operand, scope), self.compile(node.key, scope)
        run, find_key = operand.run, key.run
        nodes = operand.nodes + key.nodes + 1
        if node.is_optional:
            code = Code(_element(run, find_key, optional_field), nodes=nodes)
        elif type(key.value) is str:
            code = Code(_field_of(node.operand, scope, run, key.value), nodes=nodes)
        else:
            code = Code(_element(run, find_key, field), nodes=nodes)
        if key.is_planned and not key.failure and not is_key(key.value):
            raise CompileError(f"program instantiation failed: {no_key(key.value)}")
        return self._folded(code, operand, key)

    def _call(self, node: Call, scope: Scope) -> Code:
        if node.target is None and node.function in OPERATORS:
            parts = [self.compile(each, scope) for each in node.arguments]
            return self._folded(OPERATORS[node.function](*parts), *parts)
        if node.target is not None and node.function in SHORT_CIRCUITS and len(node.arguments) == 1:
            left, right = self.compile(node.target, scope), self.compile(node.arguments[0], scope)
            return self._folded(SHORT_CIRCUITS[node.function](left, right), left, right)
        function, operands = self._function(node, scope)
        parts = [self.compile(each, scope) for each in operands]
        refusal = None
        if function.name in PATTERNS and parts[1].is_literal and type(parts[1].value) is str:
            self._check_pattern(function.name, operands[1], parts[1].value)
            refusal = ""
        code = Code(called(function, [part.run for part in parts], refusal), nodes=_nodes(parts))
        folded = self._folded(code, *parts)
        if len(parts) == 1 and parts[0].is_planned and function.name in CONVERSIONS:
            if folded.failure:
                self._refuse_conversion(function.name, operands[0], folded.failure)
            return folded._replace(is_planned=True)
        return folded

    def _refuse_conversion(self, function: str, node: Node, failure: str) -> None:
        """Refuse a conversion of a literal, which always fails."""
        if function in MOMENTS and isinstance(node, Literal):
            raise refused(self._source, Problem(node.at, f"invalid {function} argument"))
        raise CompileError(f"program instantiation failed: {failure}")

    def _check_pattern(self, function: str, node: Node, text: str) -> None:
        """Refuse a regular expression that is wrong whatever the text."""
        try:
            pattern(text)
        except UnsupportedPattern as error:
            text = f"{error} is not supported by this scheduler"
            raise refused(self._source, Problem(node.at, text)) from error
        except InvalidPattern as error:
            if function == "matches":
                raise refused(self._source, Problem(node.at, "invalid matches argument")) from error
            raise CompileError(f"program instantiation failed: {error}") from error

    def _function(self, node: Call, scope: Scope) -> tuple[Function, tuple[Node, ...]]:
        space = qualified_name(node.target)
        if space is not None and space.partition(".")[0] not in scope:
            function = function_named(f"{space}.{node.function}", False, len(node.arguments))
            if function is not None:
                return function, node.arguments
        operands = node.arguments if node.target is None else (node.target, *node.arguments)
        function = function_named(node.function, node.target is not None, len(operands))
        if function is None:
            raise self._undeclared(node.function, node.at)
        return function, operands

    def _list(self, node: ListLiteral, scope: Scope) -> Code:
        parts = [self.compile(element.value, scope) for element in node.elements]
        runs = [part.run for part in parts]
        optional = [element.is_optional for element in node.elements]

        def plain(slots: Slots) -> Any:
            return _charged(slots, tuple([run(slots) for run in runs]))

        def with_optional(slots: Slots) -> Any:
            return _charged(slots, tuple(_present(runs, optional, slots)))

        code = Code(with_optional if any(optional) else plain, nodes=_nodes(parts))
        is_planned = all(part.is_planned for part in parts)
        return self._folded(code, *parts)._replace(is_literal=not parts, is_planned=is_planned)

    def _map(self, node: MapLiteral, scope: Scope) -> Code:
        parts = [(self.compile(each.key, scope), self.compile(each.value, scope)) for each in node.entries]
        runs = [
            (key.run, value.run, entry.is_optional) for (key, value), entry in zip(parts, node.entries, strict=True)
        ]

        def run(slots: Slots) -> Any:
            found: dict[Any, Any] = {}
            for key, value, is_optional in runs:
                _enter(found, key(slots), value(slots), is_optional)
            return _charged(slots, found)

        flat = [part for pair in parts for part in pair]
        is_planned = all(part.is_planned for part in flat)
        return self._folded(Code(run, nodes=_nodes(flat)), *flat)._replace(is_planned=is_planned)

    def _macro(self, node: Macro, scope: Scope) -> Code:
        operand = self.compile(node.operand, scope)
        places = tuple(range(self.slots, self.slots + len(node.variables)))
        self.slots += len(places)
        reader = bound_variable if node.name == "bind" else _variable
        inner = scope | {name: reader(place) for name, place in zip(node.variables, places, strict=True)}
        bodies = [self.compile(each, inner) for each in node.bodies]
        loop = Loop(
            node.name,
            operand.run,
            places,
            tuple(body.run for body in bodies),
            _nodes(bodies) + 2,
        )
        return Code(LOOPS[node.name](loop), nodes=operand.nodes + _nodes(bodies))

    def _folded(self, code: Code, *parts: Code) -> Code:
        """Compute what never changes now; what cannot be computed fails when it is evaluated."""
        if any(part.value is NOT_CONSTANT for part in parts):
            return code
        slots: Slots = [None, self._budget]
        try:
            value = code.run(slots)
        except EvaluationError as error:
            return Code(_failing(error), failure=str(error))
        except CostExceeded:
            return code
        finally:
            self._budget = max(slots[BUDGET], 0)
        return _constant(value)


def _element(run: Evaluate, find_key: Evaluate, look_up: Callable[[Any, Any], Any]) -> Evaluate:
    def element(slots: Slots) -> Any:
        value = run(slots)
        if value is NONE or (type(value) is Optional and not value.is_present):
            return NONE  # whatever the key is
        return look_up(value, find_key(slots))

    return element


def _variable(place: int) -> Evaluate:
    return lambda slots: slots[place]


def _constant(value: Any) -> Code:
    return Code(lambda slots: value, value)


def _failing(error: EvaluationError) -> Evaluate:
    text = str(error)

    def run(slots: Slots) -> Any:
        raise EvaluationError(text)

    return run


def _nodes(parts: list[Code]) -> int:
    return 1 + sum(part.nodes for part in parts)


def _charged(slots: Slots, value: Any) -> Any:
    spend(slots, 1 + size(value))
    return value


def _present(runs: list[Evaluate], optional: list[bool], slots: Slots) -> Any:
    for run, is_optional in zip(runs, optional, strict=True):
        value = run(slots)
        if not is_optional:
            yield value
        elif type(value) is not Optional:
            raise EvaluationError("cannot initialize optional list element from non-optional value")
        elif value.is_present:
            yield value.value


def _enter(found: dict[Any, Any], key: Any, value: Any, is_optional: bool) -> None:
    if is_optional:
        if type(value) is not Optional:
            raise EvaluationError("cannot initialize optional entry from non-optional value")
        if not value.is_present:
            return
        value = value.value
    found[key_of(key)] = value


DEVICE_CODE: dict[str, Evaluate] = {
    "driver": lambda slots: slots[0].driver,
    "allowMultipleAllocations": lambda slots: slots[0].allow_multiple,
    "attributes": lambda slots: slots[0].attributes,
    "capacity": lambda slots: slots[0].capacity,
}


def _field_of(operand: Node, scope: Scope, run: Evaluate, key: str) -> Evaluate:
    """Return what reads a constant field, by the shortest way for device.attributes["..."].field."""
    kind, domain = _device_domain(operand, scope)
    if kind == "attributes":

        def attribute(slots: Slots) -> Any:
            try:
                return slots[0].attributes[domain][key]
            except KeyError:
                raise EvaluationError(f"no such key: {key}") from None

        return attribute
    if kind == "capacity":

        def capacity(slots: Slots) -> Any:
            try:
                return slots[0].capacity[domain][key]
            except KeyError:
                raise EvaluationError(f"no such key: {key}") from None

        return capacity

    def general(slots: Slots) -> Any:
        value = run(slots)
        if type(value) is dict:
            try:
                return value[key]
            except KeyError:
                raise EvaluationError(f"no such key: {key}") from None
        return field(value, key)

    return general


def _device_domain(node: Node, scope: Scope) -> tuple[str, str]:
    """Return the kind and the domain if a node is device.attributes["..."], or its like."""
    if "device" in scope:
        return "", ""
    match node:
        case Index(operand=Select(operand=Name(name="device")) as select, key=Literal(value=str() as domain)):
            pass
        case Select(operand=Select(operand=Name(name="device")) as select, field=domain):
            pass
        case _:
            return "", ""
    is_plain = not (node.is_optional or select.is_optional or select.is_test or getattr(node, "is_test", False))
    return (select.field, domain) if is_plain and select.field in ("attributes", "capacity") else ("", "")


def _and(*parts: Code) -> Code:
    return Code(_logical([part.run for part in parts], decisive=False), nodes=_nodes(list(parts)))


def _or(*parts: Code) -> Code:
    return Code(_logical([part.run for part in parts], decisive=True), nodes=_nodes(list(parts)))


def _logical(runs: list[Evaluate], decisive: bool) -> Evaluate:
    """Return what joins conditions: the decisive value wins over errors, else the first error is raised."""
    neutral = not decisive

    def after_error(slots: Slots, start: int, error: EvaluationError) -> bool:
        for run in runs[start:]:
            try:
                if run(slots) is decisive:
                    return decisive
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
                return decisive
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

    return Code(run, nodes=_nodes([condition, then, otherwise]))


def _equality(left: Code, right: Code) -> Code:
    first, second, expected = left.run, right.run, right.value
    nodes = left.nodes + right.nodes + 1
    if type(expected) is str:

        def equals_text(slots: Slots) -> bool:
            value = first(slots)
            return bool(value == expected) if type(value) is str else equal(value, expected)

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
        nodes = left.nodes + right.nodes + 1
        if name == "_+_":

            def add(slots: Slots) -> Any:
                value = operate(first(slots), second(slots))
                if type(value) in COMPOUND:
                    spend(slots, size(value))
                return value

            return Code(add, nodes=nodes)
        if name == "@in" and right.is_literal and right.value == ():
            return _constant(False)  # whatever is on the left, as cel-go does it
        if name == "@in" and right.value is NOT_CONSTANT:

            def is_in(slots: Slots) -> bool:
                value, container = first(slots), second(slots)
                if type(container) is tuple:
                    spend(slots, size(container))
                return bool(operate(value, container))

            return Code(is_in, nodes=nodes)
        return Code(lambda slots: operate(first(slots), second(slots)), nodes=nodes)

    return build


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
}

SHORT_CIRCUITS: dict[str, Callable[..., Code]] = {
    "or": _alternative(is_value=False),
    "orValue": _alternative(is_value=True),
}
