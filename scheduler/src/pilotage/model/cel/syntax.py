"""The tree of an expression."""

from typing import Any

from msgspec import Struct


class Literal(Struct, frozen=True):
    """A constant."""

    value: Any
    at: int  # the position in the source


class Name(Struct, frozen=True):
    """A variable, or the first part of a qualified name."""

    name: str
    at: int


class Select(Struct, frozen=True):
    """A field: x.f, x.?f, or has(x.f)."""

    operand: "Node"
    field: str
    at: int
    is_optional: bool = False
    is_test: bool = False


class Index(Struct, frozen=True):
    """An element: x[k] or x[?k]."""

    operand: "Node"
    key: "Node"
    at: int
    is_optional: bool = False


class Call(Struct, frozen=True):
    """A function, a method, or an operator under its name such as _+_."""

    function: str
    arguments: tuple["Node", ...]
    at: int
    target: "Node | None" = None


class Element(Struct, frozen=True):
    """One element of a list literal."""

    value: "Node"
    is_optional: bool


class Entry(Struct, frozen=True):
    """One entry of a map literal."""

    key: "Node"
    value: "Node"
    is_optional: bool
    at: int


class ListLiteral(Struct, frozen=True):
    """[a, ?b]."""

    elements: tuple[Element, ...]
    at: int


class MapLiteral(Struct, frozen=True):
    """{k: v, ?k: v}."""

    entries: tuple[Entry, ...]
    at: int


class Macro(Struct, frozen=True):
    """A macro that binds variables: its operand is evaluated once, its bodies see the variables."""

    name: str
    operand: "Node"
    variables: tuple[str, ...]
    bodies: tuple["Node", ...]
    at: int


Node = Literal | Name | Select | Index | Call | ListLiteral | MapLiteral | Macro


def qualified_name(node: "Node | None") -> str | None:
    """Return the name that a chain of plain fields spells, None for anything else."""
    if isinstance(node, Name):
        return node.name
    if isinstance(node, Select) and not node.is_optional and not node.is_test:
        before = qualified_name(node.operand)
        return None if before is None else f"{before}.{node.field}"
    return None
