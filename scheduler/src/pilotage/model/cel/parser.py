"""Parses an expression into its tree: precedence climbing, and bounds that no text exceeds."""

from typing import Any

from pilotage.model.cel.errors import CompileError
from pilotage.model.cel.literals import literal
from pilotage.model.cel.macros import expanded
from pilotage.model.cel.places import Problem, refused
from pilotage.model.cel.syntax import (
    Call,
    Element,
    Entry,
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
from pilotage.model.cel.tokens import END, Token, tokens

LONGEST = 10_240  # characters, as the API has it
DEEPEST_NESTING = 100  # of brackets; each takes four frames of Python's stack
DEEPEST_TREE = 250  # a long sum is a deep tree, too

PRECEDENCE = {
    **dict.fromkeys(["||"], 1),
    **dict.fromkeys(["&&"], 2),
    **dict.fromkeys(["==", "!=", "<", "<=", ">", ">=", "in"], 3),
    **dict.fromkeys(["+", "-"], 4),
    **dict.fromkeys(["*", "/", "%"], 5),
}
OPERATORS = {sign: f"_{sign}_" for sign in PRECEDENCE} | {"in": "@in"}
LOGICAL = frozenset({"_&&_", "_||_"})
CONSTANTS = {"true": True, "false": False, "null": None}
NUMBERS = ("int", "uint", "float")
RESERVED = frozenset(
    [
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    ]
)
START = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
)


def parse(source: str) -> Node:
    """Return the tree of an expression, with its macros recognised; raise CompileError."""
    if len(source) > LONGEST:
        size = f"size: {len(source)}, limit: {LONGEST}"
        raise CompileError(f"compilation failed: ERROR: <input>:-1:0: expression code point size exceeds limit: {size}")
    parser = _Parser(source)
    node = parser.expression()
    if parser.token.kind != END:
        raise parser.wrong(f"extraneous input '{parser.token.text}' expecting <EOF>")
    if _is_too_deep(node):
        raise refused(source, Problem(0, f"expression recursion limit exceeded: {DEEPEST_TREE}"))
    return node


class _Parser:
    def __init__(self, source: str) -> None:
        self._source = source
        self._tokens = iter(tokens(source))
        self._following = next(self._tokens)
        self.token: Token = self._following
        self._depth = 0
        self._step()

    def _step(self) -> Token:
        before, self.token = self.token, self._following
        self._following = next(self._tokens, self._following)
        return before

    def wrong(self, text: str, at: int | None = None) -> CompileError:
        return refused(self._source, Problem(self.token.at if at is None else at, f"Syntax error: {text}"))

    def _is_sign(self, *signs: str) -> bool:
        return self.token.kind == "sign" and self.token.text in signs

    def _skip(self, sign: str) -> bool:
        if self._is_sign(sign):
            self._step()
            return True
        return False

    def _expect(self, sign: str) -> Token:
        if not self._is_sign(sign):
            raise self.wrong(f"mismatched input '{self.token.text}' expecting '{sign}'")
        return self._step()

    def expression(self) -> Node:
        self._depth += 1
        if self._depth > DEEPEST_NESTING:
            text = f"expression nests deeper than {DEEPEST_NESTING} levels, which is not supported by this scheduler"
            raise refused(self._source, Problem(self.token.at, text))
        # The branches of a?b:c?d:e hang on each other; a loop keeps the stack flat.
        parts: list[tuple[Node, Node, int]] = []
        node = self._binary(1)
        while self._is_sign("?"):
            at = self._step().at
            then = self._binary(1)
            self._expect(":")
            parts.append((node, then, at))
            node = self._binary(1)
        for condition, then, at in reversed(parts):
            node = Call("_?_:_", (condition, then, node), at)
        self._depth -= 1
        return node

    def _binary(self, least: int) -> Node:
        """Parse operators of at least this precedence; all are left-associative."""
        operands: list[Node] = [self._unary()]
        pending: list[Token] = []
        while True:
            power = PRECEDENCE.get(self.token.text, 0) if self.token.kind == "sign" else 0
            while pending and PRECEDENCE[pending[-1].text] >= power:
                right, left = operands.pop(), operands.pop()
                operands.append(_joined(OPERATORS[pending[-1].text], left, right, pending.pop().at))
            if power < least:
                return operands[0]
            pending.append(self._step())
            operands.append(self._unary())

    def _unary(self) -> Node:
        if not self._is_sign("!", "-") or self._is_negative_number():
            return self._member()
        first = self.token
        times = 0
        while self._is_sign(first.text) and (times == 0 or not self._is_negative_number()):
            self._step()
            times += 1
        if self._is_sign("!", "-") and not self._is_negative_number():
            text = f"no viable alternative at input '{self.token.text}{self._following.text}'"
            raise self.wrong(text, self._following.at)
        node = self._member()
        return Call("!_" if first.text == "!" else "-_", (node,), first.at) if times % 2 else node

    def _is_negative_number(self) -> bool:
        return self._is_sign("-") and self._following.kind in ("int", "float")

    def _member(self) -> Node:
        node = self._primary()
        while True:
            at = self.token.at
            if self._skip("."):
                node = self._after_dot(node, at)
            elif self._skip("["):
                is_optional = self._skip("?")
                key = self.expression()
                self._expect("]")
                node = Index(node, key, at, is_optional)
            elif self._is_sign("{") and qualified_name(node) is not None:
                raise refused(self._source, Problem(at, "messages are not supported by this scheduler"))
            else:
                return node

    def _after_dot(self, operand: Node, at: int) -> Node:
        is_optional = self._skip("?")
        if self.token.kind not in ("word", "quoted"):
            if self.token.text in CONSTANTS:
                raise self.wrong(f"mismatched input '{self.token.text}' expecting IDENTIFIER")
            raise self.wrong(f"no viable alternative at input '.{self.token.text}'")
        token = self._step()
        if token.kind == "word" and not is_optional and self._is_sign("("):
            at = self.token.at
            return self._call(token.text, self._arguments(), at, operand)
        return Select(operand, token.text.strip("`"), at, is_optional)

    def _arguments(self) -> tuple[Node, ...]:
        self._expect("(")
        found: list[Node] = []
        if not self._is_sign(")"):
            found.append(self.expression())
            while self._skip(","):
                found.append(self.expression())
        self._expect(")")
        return tuple(found)

    def _call(self, function: str, arguments: tuple[Node, ...], at: int, target: Node | None = None) -> Node:
        macro = expanded(self._source, function, target, arguments, at)
        return macro if macro is not None else Call(function, arguments, at, target)

    def _primary(self) -> Node:
        token = self.token
        if token.kind == "word" or self._is_sign("."):
            return self._named()
        if token.kind == "string" or token.kind in NUMBERS:
            self._step()
            return Literal(literal(self._source, token), token.at)
        if self._is_negative_number():
            self._step()
            number = self._step()
            return Literal(literal(self._source, number, is_negative=True), token.at)
        if token.kind == "sign" and token.text in CONSTANTS:
            self._step()
            return Literal(CONSTANTS[token.text], token.at)
        if self._skip("("):
            node = self.expression()
            self._expect(")")
            return node
        if self._skip("["):
            return self._list(token.at)
        if self._skip("{"):
            return self._map(token.at)
        raise self.wrong(f"mismatched input '{token.text}' expecting {START}")

    def _named(self) -> Node:
        self._skip(".")  # the names of all selectors are in one container
        if self.token.kind != "word":
            raise self.wrong(f"mismatched input '{self.token.text}' expecting IDENTIFIER")
        token = self._step()
        if self._is_sign("("):
            at = self.token.at
            return self._call(token.text, self._arguments(), at)
        if token.text in RESERVED:
            raise refused(self._source, Problem(token.at, f"reserved identifier: {token.text}"))
        return Name(token.text, token.at)

    def _list(self, at: int) -> Node:
        elements: list[Element] = []
        while not self._is_sign("]"):
            is_optional = self._skip("?")
            elements.append(Element(self.expression(), is_optional))
            if not self._skip(","):
                break
        self._expect("]")
        return ListLiteral(tuple(elements), at)

    def _map(self, at: int) -> Node:
        entries: list[Entry] = []
        while not self._is_sign("}"):
            is_optional = self._skip("?")
            key = self.expression()
            colon = self._expect(":").at
            entries.append(Entry(key, self.expression(), is_optional, colon))
            if not self._skip(","):
                break
        self._expect("}")
        return MapLiteral(tuple(entries), at)


def _joined(operator: str, left: Node, right: Node, at: int) -> Node:
    # All operands of one && or || in one node: a chain of hundreds is as flat as it looks.
    if operator in LOGICAL and isinstance(left, Call) and left.function == operator:
        return Call(operator, (*left.arguments, right), left.at)
    return Call(operator, (left, right), at)


def children(node: Node) -> tuple[Any, ...]:
    """Return the nodes directly below a node."""
    match node:
        case Select():
            return (node.operand,)
        case Index():
            return node.operand, node.key
        case Call():
            return node.arguments if node.target is None else (node.target, *node.arguments)
        case ListLiteral():
            return tuple(element.value for element in node.elements)
        case MapLiteral():
            return tuple(part for entry in node.entries for part in (entry.key, entry.value))
        case Macro():
            return (node.operand, *node.bodies)
    return ()


def _is_too_deep(node: Node) -> bool:
    level, depth = [node], 0
    while level and depth <= DEEPEST_TREE:
        level, depth = [child for each in level for child in children(each)], depth + 1
    return bool(level)
