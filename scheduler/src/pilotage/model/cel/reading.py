"""Finds what of a device an expression can read."""

from collections.abc import Hashable
from typing import Any

from msgspec import Struct

from pilotage.model.cel.devices import DeviceView
from pilotage.model.cel.parser import children
from pilotage.model.cel.quantities import CelQuantity
from pilotage.model.cel.syntax import Call, Index, Literal, Macro, Name, Node, Select
from pilotage.model.cel.values import Domains

DRIVERS_OWN = ""  # the domain of device.attributes[device.driver]
Mention = tuple[str, str, str]  # "attributes" or "capacity", domain, id
MISSING = ("missing",)


class Reading(Struct, frozen=True):
    """What an expression can read."""

    mentions: frozenset[Mention] | None  # None: everything
    reads_driver: bool
    reads_multiple: bool
    in_order: tuple[Mention, ...]

    def projection(self, view: DeviceView) -> Hashable:
        """Return a key of all that the expression can read of a device."""
        if view.failure is not None:
            return view.failure
        if self.mentions is None:
            return view.driver, view.allow_multiple, _key(view.attributes), _key(view.capacity)
        return (
            view.driver if self.reads_driver else None,
            view.allow_multiple if self.reads_multiple else None,
            *[_mentioned(view, mention) for mention in self.in_order],
        )


def _mentioned(view: DeviceView, mention: Mention) -> Hashable:
    kind, domain, key = mention
    values = (view.attributes if kind == "attributes" else view.capacity)[domain or view.driver]
    return _key(values[key]) if key in values else MISSING


def _key(value: Any) -> Hashable:
    kind = type(value)
    if kind is tuple:
        return tuple(map(_key, value))
    if kind is dict or kind is Domains:
        return tuple(sorted((key, _key(each)) for key, each in value.items()))
    if kind is CelQuantity:
        return kind.__name__, value.key()
    if kind is str:
        return str(value)
    return kind.__name__, value  # true is not 1, and a version is not the text of it


Path = tuple[Any, ...]  # ("device",), ("device", "attributes"), ("device", "attributes", domain)


class _Reader:
    def __init__(self) -> None:
        self.mentions: set[Mention] = set()
        self.is_bounded = True
        self.fields: set[str] = set()

    def read(self, node: Node, scope: dict[str, Path]) -> None:
        """Note all that a node reads as a value."""
        path = self._path(node, scope)
        if path is not None:
            self._note(path)
            return
        if isinstance(node, Macro):
            self._macro(node, scope)
        elif isinstance(node, Call) and node.function == "@in" and self._is_membership(node, scope):
            return
        else:
            for child in children(node):
                self.read(child, scope)

    def _note(self, path: Path) -> None:
        if len(path) == 2 and path[1] in ("driver", "allowMultipleAllocations"):
            self.fields.add(path[1])
        elif len(path) == 4:
            self.mentions.add((path[1], path[2], path[3]))
        elif path:
            self.is_bounded = False  # a whole map

    def _macro(self, node: Macro, scope: dict[str, Path]) -> None:
        bound = self._path(node.operand, scope) if node.name == "bind" else None
        if bound is None:
            self.read(node.operand, scope)
        inner = scope | dict.fromkeys(node.variables, bound if bound is not None else ())
        for body in node.bodies:
            self.read(body, inner)

    def _is_membership(self, node: Call, scope: dict[str, Path]) -> bool:
        key, container = node.arguments
        path = self._path(container, scope)
        if path is None or len(path) != 3 or not (isinstance(key, Literal) and type(key.value) is str):
            return False
        self.mentions.add((path[1], path[2], key.value))
        return True

    def _path(self, node: Node, scope: dict[str, Path]) -> Path | None:
        """Return the place in the device that a node names; () is none of it; None if that cannot be said."""
        match node:
            case Name():
                return scope.get(node.name, ("device",) if node.name == "device" else None)
            case Select():
                return self._below(self._path(node.operand, scope), node.field)
            case Index(key=Literal(value=str() as key)):
                return self._below(self._path(node.operand, scope), key)
            case Index():
                path = self._path(node.operand, scope)
                if path is not None and len(path) == 2 and self._path(node.key, scope) == ("device", "driver"):
                    return (*path, DRIVERS_OWN)
        return None

    @staticmethod
    def _below(path: Path | None, key: str) -> Path | None:
        if not path or len(path) >= 4 or (len(path) == 2 and path[1] not in ("attributes", "capacity")):
            return path if path and len(path) == 4 else None  # below an attribute: the attribute
        return (*path, key)


def reading(node: Node) -> Reading:
    """Return what an expression can read."""
    reader = _Reader()
    reader.read(node, {})
    mentions = frozenset(reader.mentions) if reader.is_bounded else None
    return Reading(
        mentions,
        "driver" in reader.fields,
        "allowMultipleAllocations" in reader.fields,
        tuple(sorted(reader.mentions)),
    )
