"""Recognises macros: calls whose arguments are code with variables of its own."""

from pilotage.model.cel.places import Problem, refused
from pilotage.model.cel.syntax import Literal, Macro, MapLiteral, Name, Node, Select

ACCUMULATORS = frozenset({"__result__", "@result"})

# Methods by name and number of arguments: how many of them are variables, and the name of what they mean.
LOOPS: dict[tuple[str, int], tuple[int, str]] = {
    ("all", 2): (1, "all"),
    ("exists", 2): (1, "exists"),
    ("exists_one", 2): (1, "existsOne"),
    ("map", 2): (1, "map"),
    ("map", 3): (1, "map"),
    ("filter", 2): (1, "filter"),
    ("all", 3): (2, "all"),
    ("exists", 3): (2, "exists"),
    ("exists_one", 3): (2, "existsOne"),
    ("existsOne", 3): (2, "existsOne"),
    ("transformList", 3): (2, "transformList"),
    ("transformList", 4): (2, "transformList"),
    ("transformMap", 3): (2, "transformMap"),
    ("transformMap", 4): (2, "transformMap"),
    ("transformMapEntry", 3): (2, "transformMapEntry"),
    ("transformMapEntry", 4): (2, "transformMapEntry"),
    ("optMap", 2): (1, "optMap"),
    ("optFlatMap", 2): (1, "optFlatMap"),
    ("sortBy", 2): (1, "sortBy"),
}


def expanded(source: str, function: str, target: Node | None, arguments: tuple[Node, ...], at: int) -> Node | None:
    """Return what a call of a macro stands for, None if it is a plain call; raise CompileError if it is misused."""
    if target is None:
        return _presence(source, arguments, at) if function == "has" and len(arguments) == 1 else None
    if function == "bind" and len(arguments) == 3 and isinstance(target, Name) and target.name == "cel":
        return _binding(source, arguments, at)
    if (loop := LOOPS.get((function, len(arguments)))) is None:
        return None
    count, name = loop
    variables = tuple(_variable(source, each, name, count) for each in arguments[:count])
    if len(set(variables)) < len(variables):
        raise refused(source, Problem(arguments[1].at, f"duplicate variable name: {variables[1]}"))
    if name == "sortBy" and isinstance(target, Literal | MapLiteral):
        text = "sortBy can only be applied to a list, identifier, comprehension, call or select expression"
        raise refused(source, Problem(target.at, text))
    return Macro(name, target, variables, arguments[count:], at)


def _presence(source: str, arguments: tuple[Node, ...], at: int) -> Node:
    tested = arguments[0]
    if not isinstance(tested, Select) or tested.is_test:
        raise refused(source, Problem(tested.at, "invalid argument to has() macro"))
    return Select(tested.operand, tested.field, at, tested.is_optional, is_test=True)


def _binding(source: str, arguments: tuple[Node, ...], at: int) -> Node:
    variable, value, body = arguments
    if not isinstance(variable, Name):
        raise refused(source, Problem(variable.at, "cel.bind() variable names must be simple identifiers"))
    return Macro("bind", value, (variable.name,), (body,), at)


def _variable(source: str, node: Node, macro: str, count: int) -> str:
    if not isinstance(node, Name):
        text = "argument must be a simple name" if count > 1 else "argument is not an identifier"
        if macro in ("optMap", "optFlatMap"):
            text = f"{macro}() variable name must be a simple identifier"
        raise refused(source, Problem(node.at, text))
    if node.name in ACCUMULATORS:
        raise refused(source, Problem(node.at, "iteration variable overwrites accumulator variable"))
    return node.name
