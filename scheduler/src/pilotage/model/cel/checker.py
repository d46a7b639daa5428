"""Finds the types of an expression before it runs, and refuses what kube-scheduler's compiler refuses."""

from collections.abc import Sequence
from typing import NamedTuple

from pilotage.model.cel.calls import Signature, signatures_of
from pilotage.model.cel.functions.formatting import format_complaint
from pilotage.model.cel.inference import (
    ERROR,
    VARIABLE,
    Mapping,
    assignable,
    is_open,
    is_variable,
    most_general,
    substituted,
)
from pilotage.model.cel.operator_types import OPERATORS
from pilotage.model.cel.places import MOST, Problem, refused
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
from pilotage.model.cel.types import (
    BOOL,
    DEVICE,
    DEVICE_FIELDS,
    DYN,
    INT,
    LITERAL_TYPES,
    QUANTITY,
    SEMVER,
    TYPE_VALUES,
    Type,
    list_of,
    map_of,
    optional_of,
)

Scope = dict[str, Type]
WHOLE = {"list": list_of(DYN), "map": map_of(DYN, DYN)}  # what these names stand for
LOGICAL = frozenset({"_&&_", "_||_"})
# What kube-scheduler has, too.
UNSUPPORTED = frozenset(
    ["url", "isURL", "getScheme", "getHost", "getHostname", "getPort", "getEscapedPath", "getQuery"]
)
UNSUPPORTED |= {"format.uri", "uri"}
EXEMPT = "format"  # its list may hold what it likes


Resolved = dict[int, frozenset[Signature]]  # what a call can mean, by the identity of its node


class Checked(NamedTuple):
    """What is known of an expression before it is compiled."""

    resolved: Resolved
    complaint: str  # why no bool can come of it, if so


def check(source: str, node: Node) -> Checked:
    """Return what the calls of an expression can mean, and whether a bool can come of it; raise CompileError."""
    checker = _Checker()
    result = substituted(checker.mapping, checker.check(node, {}), is_final=True)
    problems = checker.problems or [*checker.uneven(), *checker.later]
    if problems:
        raise refused(source, *sorted(problems, key=lambda problem: problem.at))
    complaint = "" if result in (BOOL, DYN) else f"must evaluate to bool or the unknown type, not {result.full()}"
    return Checked(checker.resolved, complaint)


class _Checker:
    def __init__(self) -> None:
        self.mapping: Mapping = {}
        self.problems: list[Problem] = []
        self.resolved: Resolved = {}
        self._variables = 0
        self._exempt = 0
        self._kinds: dict[int, Type] = {}  # of elements of literals, by identity
        self.later: list[Problem] = []  # what counts only if nothing else is wrong
        self._rows: list[list[tuple[int, Type]]] = []  # of types that must be equal in the end

    def check(self, node: Node, scope: Scope) -> Type:
        """Return the type of a node; what is wrong is noted."""
        match node:
            case Literal():
                return LITERAL_TYPES[type(node.value)]
            case Name():
                return self._name(node, scope)
            case Select():
                return self._select(node, scope)
            case Index():
                parts = (self.check(node.operand, scope), self.check(node.key, scope))
                return self._resolved("_[?_]" if node.is_optional else "_[_]", parts, node.at)
            case Call():
                return self._call(node, scope)
            case ListLiteral():
                return self._list(node, scope)
            case MapLiteral():
                return self._map(node, scope)
            case Macro():
                return self._macro(node, scope)

    def uneven(self) -> Sequence[Problem]:
        """Return the first element of each literal whose type is not the one of its first element."""
        found = []
        for row in self._rows:
            kinds = [(at, substituted(self.mapping, kind, is_final=True)) for at, kind in row]
            wrong = next(((at, kind) for at, kind in kinds if kind != kinds[0][1]), None)
            if wrong is not None:
                found.append(Problem(wrong[0], f"expected type '{kinds[0][1]}' but found '{wrong[1]}'"))
        return found

    def _wrong(self, at: int, text: str) -> Type:
        self.problems.append(Problem(at, text))
        return ERROR

    def _variable(self) -> Type:
        self._variables += 1
        return Type(f"{VARIABLE}{self._variables - 1}")

    def _assign(self, given: Type, wanted: Type) -> bool:
        found = assignable(self.mapping, (given,), (wanted,))
        if found is not None:
            self.mapping = found
        return found is not None

    def _name(self, node: Name, scope: Scope) -> Type:
        if node.name in scope:
            return scope[node.name]
        if node.name == "device":
            return DEVICE
        if node.name in TYPE_VALUES:
            return Type("type", (WHOLE.get(node.name) or Type(node.name),))
        return self._wrong(node.at, f"undeclared reference to '{node.name}' (in container '')")

    def _select(self, node: Select, scope: Scope) -> Type:
        name = qualified_name(node)
        if name is not None and name in TYPE_VALUES and name.partition(".")[0] not in scope:
            return Type("type", (Type(name),))
        operand = substituted(self.mapping, self.check(node.operand, scope))
        is_optional = operand.name == "optional_type"
        target = operand.parameters[0] if is_optional else operand
        kind = self._field(target, node)
        if node.is_test:
            return BOOL
        kind = optional_of(kind) if is_optional or node.is_optional else kind
        return substituted(self.mapping, kind)

    def _field(self, target: Type, node: Select) -> Type:
        if target.name == "map":
            return target.parameters[1]
        if target == DEVICE:
            kind = DEVICE_FIELDS.get(node.field)
            return kind if kind is not None else self._wrong(node.at, f"undefined field '{node.field}'")
        if is_variable(target):
            self._assign(DYN, target)
        elif target in (QUANTITY, SEMVER):
            return self._wrong(node.at, f"unexpected failed resolution of '{target}'")
        elif not is_open(target):
            self._wrong(node.at, f"type '{target}' does not support field selection")
        return DYN

    def _call(self, node: Call, scope: Scope) -> Type:
        space = qualified_name(node.target)
        name = f"{space}.{node.function}"
        is_qualified = space is not None and bool(signatures_of(name))
        self._exempt += node.function == EXEMPT
        parts = [self.check(each, scope) for each in node.arguments]
        if node.function in LOGICAL:
            return self._logical(node, parts)
        is_method = node.target is not None and not is_qualified
        if is_method and node.target is not None:
            parts.insert(0, self.check(node.target, scope))
        self._exempt -= node.function == EXEMPT
        if node.function == EXEMPT and is_method:
            self._format(node)
        name = name if is_qualified else node.function
        return self._resolved(name, tuple(parts), node.at, is_method, id(node))

    def _format(self, node: Call) -> None:
        """Note what is wrong with a constant format whatever the values."""
        if (
            isinstance(node.target, Literal)
            and type(node.target.value) is str
            and isinstance(node.arguments[0], ListLiteral)
        ):
            kinds = [
                (element.value.at, self._kinds.get(id(element.value), DYN)) for element in node.arguments[0].elements
            ]
            complaint = format_complaint(node.target.value, node.at, kinds)
            if complaint is not None:
                self.later.append(Problem(*complaint))

    def _logical(self, node: Call, parts: Sequence[Type]) -> Type:
        result = BOOL
        for part, kind in zip(node.arguments, parts, strict=True):
            if not self._assign(kind, BOOL):
                result = self._wrong(part.at, f"expected type 'bool' but found '{kind}'")
        return result

    def _resolved(
        self, name: str, parts: tuple[Type, ...], at: int, is_method: bool = False, node: int | None = None
    ) -> Type:
        """Return what a function gives for these types; its overloads may agree on dyn only."""
        overloads = OPERATORS.get(name) or signatures_of(name)
        if not overloads:
            if name in UNSUPPORTED:
                return self._wrong(at, f"{name}() is not supported by this scheduler")
            return self._wrong(at, f"undeclared reference to '{name}' (in container '')")
        result: Type | None = None
        fitting: list[Signature] = []
        for overload in overloads:
            if overload.is_method is not is_method or len(overload.parameters) != len(parts):
                continue
            parameters, given = self._instance(overload)
            found = assignable(self.mapping, parts, parameters)
            if found is None:
                continue
            self.mapping = found
            fitting.append(overload)
            kind = substituted(found, given)
            result = kind if result is None or result == kind else DYN
        if node is not None:
            self.resolved[node] = frozenset(fitting)
        return self._no_overload(name, parts, at, is_method) if result is None else result

    def _no_overload(self, name: str, parts: tuple[Type, ...], at: int, is_method: bool) -> Type:
        kinds = [str(substituted(self.mapping, part, is_final=True)) for part in parts]
        shown = f"{kinds[0]}.({', '.join(kinds[1:])})" if is_method else f"({', '.join(kinds)})"
        return self._wrong(at, f"found no matching overload for '{name}' applied to '{shown}'")

    def _instance(self, overload: Signature) -> tuple[tuple[Type, ...], Type]:
        """Return the parameters and the result of an overload with type variables of its own."""
        if not overload.variables:
            return overload.parameters, overload.result
        fresh = {name: self._variable() for name in overload.variables}
        return tuple(_renamed(each, fresh) for each in overload.parameters), _renamed(overload.result, fresh)

    def _joined(self, before: Type | None, kind: Type) -> Type:
        if before is None:
            return kind
        if self._assign(before, kind):
            return most_general(before, kind)
        return DYN

    def _present(self, kind: Type, is_optional: bool, at: int) -> Type:
        """Return the type of an element; one that may be missing must be optional."""
        if not is_optional:
            return kind
        if kind.name == "optional_type":
            return kind.parameters[0]
        if not is_open(kind):
            self._wrong(at, f"expected type 'optional_type({kind})' but found '{kind}'")
        return kind

    def _list(self, node: ListLiteral, scope: Scope) -> Type:
        joined: Type | None = None
        row = []
        for element in node.elements:
            kind = self._present(self.check(element.value, scope), element.is_optional, element.value.at)
            row.append((element.value.at, kind))
            self._kinds[id(element.value)] = kind
            joined = self._joined(joined, kind)
        self._note(row)
        return list_of(joined if joined is not None else self._variable())

    def _map(self, node: MapLiteral, scope: Scope) -> Type:
        key: Type | None = None
        value: Type | None = None
        keys, values = [], []
        for entry in node.entries:
            kind = self.check(entry.key, scope)
            keys.append((entry.key.at, kind))
            key = self._joined(key, kind)
            kind = self._present(self.check(entry.value, scope), entry.is_optional, entry.value.at)
            values.append((entry.value.at, kind))
            value = self._joined(value, kind)
        self._note(keys)
        self._note(values)
        return map_of(key, value) if key and value else map_of(self._variable(), self._variable())

    def _note(self, row: list[tuple[int, Type]]) -> None:
        if len(row) > 1 and not self._exempt:
            self._rows.append(row)

    def _macro(self, node: Macro, scope: Scope) -> Type:
        return substituted(self.mapping, self._of_macro(node, scope))

    def _of_macro(self, node: Macro, scope: Scope) -> Type:
        before = len(self.problems)
        operand = self.check(node.operand, scope)
        if node.name in ("optMap", "optFlatMap") and before < len(self.problems) < MOST:
            self.problems += self.problems[before:]  # cel-go looks at the operand twice
        if node.name == "bind":
            return self.check(node.bodies[0], scope | {node.variables[0]: operand})
        if node.name in ("optMap", "optFlatMap"):
            return self._optional_macro(node, operand, scope)
        inner = scope | dict(zip(node.variables, self._items(node, operand), strict=True))
        if node.name in ("all", "exists"):
            self._condition(node.bodies[0], inner)
            return BOOL
        if node.name == "transformMap":
            inner_key = inner[node.variables[0]]
            return map_of(inner_key, self._last_body(node, inner))
        result = self._last_body(node, inner) if node.name not in ("existsOne", "filter") else DYN
        return self._loop_result(node, operand, inner, result)

    def _loop_result(self, node: Macro, operand: Type, inner: Scope, result: Type) -> Type:
        match node.name:
            case "existsOne":
                self._test(node, inner, INT)
                return BOOL
            case "filter":
                item = inner[node.variables[0]]
                self._test(node, inner, list_of(item))
                return list_of(item)
            case "sortBy":
                return self._resolved("@sortByAssociatedKeys", (operand, list_of(result)), node.at, is_method=True)
            case "transformMapEntry":
                return self._resolved("cel.@mapInsert", (map_of(self._variable(), self._variable()), result), node.at)
        return list_of(result)

    def _optional_macro(self, node: Macro, operand: Type, scope: Scope) -> Type:
        self._resolved("hasValue", (operand,), node.at, is_method=True)
        value = self._resolved("value", (operand,), node.at, is_method=True)
        body = self.check(node.bodies[0], scope | {node.variables[0]: value})
        body = body if node.name == "optFlatMap" else optional_of(body)
        return self._resolved("_?_:_", (BOOL, body, optional_of(self._variable())), node.at)

    def _last_body(self, node: Macro, inner: Scope) -> Type:
        if len(node.bodies) == 1:
            return self.check(node.bodies[0], inner)
        condition, body = self.check(node.bodies[0], inner), self.check(node.bodies[1], inner)
        if not self._assign(condition, BOOL):
            made = map_of(inner[node.variables[0]], body) if node.name == "transformMap" else list_of(body)
            self._resolved("_?_:_", (condition, made, made), node.at)
        return body

    def _condition(self, body: Node, inner: Scope) -> None:
        kind = self.check(body, inner)
        if not self._assign(kind, BOOL):
            self._wrong(body.at, f"expected type 'bool' but found '{substituted(self.mapping, kind)}'")

    def _test(self, node: Macro, inner: Scope, accumulated: Type) -> None:
        kind = self.check(node.bodies[0], inner)
        self._resolved("_?_:_", (kind, accumulated, accumulated), node.at)

    def _items(self, node: Macro, operand: Type) -> tuple[Type, ...]:
        """Return the types of the variables of a loop over an operand."""
        kind = substituted(self.mapping, operand)
        has_two = len(node.variables) == 2
        if kind.name == "list":
            return (INT, kind.parameters[0]) if has_two else kind.parameters
        if kind.name == "map":
            return kind.parameters[: len(node.variables)]
        if is_open(kind) or is_variable(kind):
            self._assign(DYN, kind)
            return (DYN,) * len(node.variables)
        text = f"expression of type '{kind}' cannot be range of a comprehension (must be list, map, or dynamic)"
        self._wrong(node.at if node.name == "sortBy" else node.operand.at, text)
        return (ERROR,) * len(node.variables)


def _renamed(kind: Type, names: dict[str, Type]) -> Type:
    if kind.name in names:
        return names[kind.name]
    return Type(kind.name, tuple(_renamed(each, names) for each in kind.parameters)) if kind.parameters else kind
