"""The static types of expressions, and how they are written."""

import re
from typing import Any

from msgspec import Struct

from pilotage.model.cel.values import CelType, UInt

SHOWN = {"google.protobuf.Duration": "duration", "google.protobuf.Timestamp": "timestamp"}


class Type(Struct, frozen=True):
    """A type with its parameters; a single capital letter is a parameter of a signature."""

    name: str
    parameters: tuple["Type", ...] = ()

    def full(self) -> str:
        """Return the type with its full names, as the message about the result shows it."""
        name = "null_type" if self.name == "null" else self.name
        return f"{name}({', '.join(each.full() for each in self.parameters)})" if self.parameters else name

    def __str__(self) -> str:
        """Return the type as other messages show it."""
        if self.name in SHOWN:
            return SHOWN[self.name]
        return f"{self.name}({', '.join(map(str, self.parameters))})" if self.parameters else self.name


DYN, BOOL, INT, UINT, DOUBLE = Type("dyn"), Type("bool"), Type("int"), Type("uint"), Type("double")
STRING, BYTES, NULL = Type("string"), Type("bytes"), Type("null")
DURATION, TIMESTAMP = Type("google.protobuf.Duration"), Type("google.protobuf.Timestamp")
QUANTITY, SEMVER, DEVICE = Type("kubernetes.Quantity"), Type("kubernetes.Semver"), Type("kubernetes.DRADevice")
COMPARABLE = (INT, UINT, DOUBLE, BOOL, DURATION, TIMESTAMP, STRING, BYTES)

SHORT = {
    "quantity": QUANTITY.name,
    "semver": SEMVER.name,
    "ip": "net.IP",
    "cidr": "net.CIDR",
    "url": "kubernetes.URL",
    "named_format": "kubernetes.NamedFormat",
    "duration": DURATION.name,
    "timestamp": TIMESTAMP.name,
}


def list_of(element: Type) -> Type:
    """Return the type of lists of these elements."""
    return Type("list", (element,))


def map_of(key: Type, value: Type) -> Type:
    """Return the type of maps."""
    return Type("map", (key, value))


def optional_of(value: Type) -> Type:
    """Return the type of optional values."""
    return Type("optional_type", (value,))


# Names that stand for a type as value, as in type(x) == string.
TYPE_VALUES: dict[Any, CelType] = {
    name: CelType(name)
    for name in [
        *("bool", "int", "uint", "double", "string", "bytes", "list", "map", "null_type", "type", "optional_type"),
        *("google.protobuf.Duration", "google.protobuf.Timestamp", "net.IP", "net.CIDR"),
    ]
}

LITERAL_TYPES: dict[type, Type] = {
    bool: BOOL,
    int: INT,
    UInt: UINT,
    float: DOUBLE,
    str: STRING,
    bytes: BYTES,
    type(None): NULL,
}
DEVICE_FIELDS = {
    "driver": STRING,
    "allowMultipleAllocations": BOOL,
    "attributes": map_of(STRING, map_of(STRING, DYN)),
    "capacity": map_of(STRING, map_of(STRING, QUANTITY)),
}

WORD = re.compile(r"[A-Za-z_.]+")


def read_type(text: str) -> Type:
    """Return the type that a text such as list(string) spells."""
    found, rest = _read(text.strip())
    assert not rest, text
    return found


def read_types(text: str) -> tuple[Type, ...]:
    """Return the types of a list with commas."""
    found = []
    rest = text.strip()
    while rest:
        each, rest = _read(rest)
        found.append(each)
        rest = rest.removeprefix(",").strip()
    return tuple(found)


def _read(text: str) -> tuple[Type, str]:
    match = WORD.match(text)
    assert match, text
    name, rest = match.group(), text[match.end() :]
    parameters = []
    if rest.startswith("("):
        rest = rest[1:]
        while not rest.startswith(")"):
            each, rest = _read(rest.lstrip(", "))
            parameters.append(each)
        rest = rest[1:]
    return Type(SHORT.get(name, name), tuple(parameters)), rest
