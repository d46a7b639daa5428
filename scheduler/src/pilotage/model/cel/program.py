"""Turns the tree of an expression into closures: each takes the slots of an evaluation and returns a value."""

from collections.abc import Callable
from typing import Any, NamedTuple

from pilotage.model.cel.access import field, has_field, is_key, no_key, optional_field
from pilotage.model.cel.calls import Function, called, function_named, narrowed
from pilotage.model.cel.checker import Checked, Resolved
from pilotage.model.cel.code import NOT_CONSTANT, Code, constant, nodes_of
from pilotage.model.cel.device_code import DEVICE_CODE, field_of
from pilotage.model.cel.environment import BUDGET, FIRST_VARIABLE, CostExceeded, Evaluate, Slots, size, spend
from pilotage.model.cel.errors import CompileError, EvaluationError
from pilotage.model.cel.loops import LOOPS, Loop, bound_variable
from pilotage.model.cel.operations import OPERATORS, SHORT_CIRCUITS
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
from pilotage.model.cel.values import NONE, Optional, key_of, type_name

MOMENTS = frozenset({"timestamp", "duration"})
CONVERSIONS = MOMENTS | {"int", "uint", "double", "string", "bytes", "bool", "dyn", "type"}
PATTERNS = frozenset({"matches", "find", "findAll"})
FOLDING_BUDGET = 10_000  # of what is computed while compiling


class Program(NamedTuple):
    """A compiled expression and how many slots it needs."""

    run: Evaluate
    slots: int


def program(source: str, node: Node, checked: Checked) -> Program:
    """Compile a tree; raise CompileError for names that do not exist."""
    compiler = _Compiler(source, checked.resolved)
    code = compiler.compile(node, {})
    if compiler.problems:
        raise refused(source, *sorted(compiler.problems, key=lambda problem: problem.at))
    if checked.complaint:
        raise CompileError(checked.complaint)
    if compiler.failure is not None:
        raise compiler.failure
    return Program(code.run, compiler.slots)


Scope = dict[str, Evaluate]  # what reads each variable


class _Compiler:
    def __init__(self, source: str, resolved: Resolved) -> None:
        self._source = source
        self._resolved = resolved
        self._budget = FOLDING_BUDGET
        self.slots = FIRST_VARIABLE
        self.problems: list[Problem] = []  # of literals
        self.failure: CompileError | None = None  # the first one of what cel-go finds after all problems

    def compile(self, node: Node, scope: Scope) -> Code:
        match node:
            case Literal():
                return constant(node.value)._replace(is_literal=True, is_planned=True)
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

    def _undeclared(self, name: str, at: int) -> CompileError:
        return refused(self._source, Problem(at, f"undeclared reference to '{name}' (in container '')"))

    def _name(self, node: Name, scope: Scope) -> Code:
        if (variable := scope.get(node.name)) is not None:
            return Code(variable)
        if node.name == "device":
            return Code(lambda slots: slots[0].as_map())
        if node.name in TYPE_VALUES:
            return constant(TYPE_VALUES[node.name])
        raise self._undeclared(node.name, node.at)

    def _select(self, node: Select, scope: Scope) -> Code:
        name = qualified_name(node)
        if name is not None and name in TYPE_VALUES and name.partition(".")[0] not in scope:
            return constant(TYPE_VALUES[name])
        if node.operand == Name("device", getattr(node.operand, "at", -1)) and "device" not in scope:
            return self._device_field(node)
        operand = self.compile(node.operand, scope)
        run, key = operand.run, node.field
        if node.is_test:
            code = Code(lambda slots: has_field(run(slots), key), nodes=operand.nodes)
        elif node.is_optional:
            code = Code(lambda slots: optional_field(run(slots), key), nodes=operand.nodes + 1)
        else:
            code = Code(field_of(node.operand, "device" in scope, run, key), nodes=operand.nodes + 1)
        return self._folded(code, operand)

    def _device_field(self, node: Select) -> Code:
        if node.field not in DEVICE_CODE:
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
            code = Code(field_of(node.operand, "device" in scope, run, key.value), nodes=nodes)
        else:
            code = Code(_element(run, find_key, field), nodes=nodes)
        if key.is_planned and key.value is not NOT_CONSTANT and not is_key(key.value):
            self._fail(str(no_key(key.value)))
        return self._folded(code, operand, key)

    def _call(self, node: Call, scope: Scope) -> Code:
        if node.target is None and node.function in OPERATORS:
            parts = [self.compile(each, scope) for each in node.arguments]
            return self._folded(OPERATORS[node.function](*parts), *parts)
        if node.target is not None and node.function in SHORT_CIRCUITS and len(node.arguments) == 1:
            left, right = self.compile(node.target, scope), self.compile(node.arguments[0], scope)
            return self._folded(SHORT_CIRCUITS[node.function](left, right), left, right)
        function, operands = self._function(node, scope)
        function = narrowed(function, self._resolved.get(id(node)))
        parts = [self.compile(each, scope) for each in operands]
        refusal = None
        if function.name in PATTERNS and parts[1].is_planned and type(parts[1].value) is str:
            self._check_pattern(function.name, operands[1], parts[1].value)
            refusal = ""
        code = Code(called(function, [part.run for part in parts], refusal), nodes=nodes_of(parts))
        folded = self._folded(code, *parts)
        if len(parts) == 1 and parts[0].is_planned and function.name in CONVERSIONS:
            if folded.failure:
                self._refuse_conversion(function.name, operands[0], folded.failure)
            return folded._replace(is_planned=True)
        return folded

    def _refuse_conversion(self, function: str, node: Node, failure: str) -> None:
        """Refuse a conversion of a literal, which always fails."""
        if function in MOMENTS and isinstance(node, Literal):
            self.problems.append(Problem(node.at, f"invalid {function} argument"))
        self._fail(failure)

    def _fail(self, reason: str) -> None:
        self.failure = self.failure or CompileError(f"program instantiation failed: {reason}")

    def _check_pattern(self, function: str, node: Node, text: str) -> None:
        """Refuse a regular expression that is wrong whatever the text."""
        try:
            pattern(text)
        except UnsupportedPattern as error:
            text = f"{error} is not supported by this scheduler"
            raise refused(self._source, Problem(node.at, text)) from error
        except InvalidPattern as error:
            if function == "matches":
                self.problems.append(Problem(node.at, "invalid matches argument"))
            self._fail(str(error))

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

        code = Code(with_optional if any(optional) else plain, nodes=nodes_of(parts))
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
        return self._folded(Code(run, nodes=nodes_of(flat)), *flat)._replace(is_planned=is_planned)

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
            nodes_of(bodies) + 2,
        )
        return Code(LOOPS[node.name](loop), nodes=operand.nodes + nodes_of(bodies))

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
        return constant(value)


def _element(run: Evaluate, find_key: Evaluate, look_up: Callable[[Any, Any], Any]) -> Evaluate:
    def element(slots: Slots) -> Any:
        value = run(slots)
        if value is NONE or (type(value) is Optional and not value.is_present):
            return NONE  # whatever the key is
        return look_up(value, find_key(slots))

    return element


def _variable(place: int) -> Evaluate:
    return lambda slots: slots[place]


def _failing(error: EvaluationError) -> Evaluate:
    text = str(error)

    def run(slots: Slots) -> Any:
        raise EvaluationError(text)

    return run


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
    if not is_key(key):
        raise EvaluationError(f"a {type_name(key)} as key of a map is not supported by this scheduler")
    found[key_of(key)] = value
