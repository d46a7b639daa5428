"""The values of expressions, what they are called, and when they are equal.

int, float, str, bytes, bool and None are Python's; a list is a tuple, a map is a dict. Its keys are strings, integers,
or one of two stand-ins for true and false, because Python takes True for 1.
"""

import math
from datetime import UTC, datetime
from enum import Enum
from typing import Any

from msgspec import Struct

from pilotage.model.cel.errors import EvaluationError, no_overload
from pilotage.model.cel.named_formats import NamedFormat
from pilotage.model.cel.networks import Address, Network
from pilotage.model.cel.quantities import CelQuantity
from pilotage.model.semver import Semver

INT_MAX, INT_MIN, UINT_MAX = 2**63 - 1, -(2**63), 2**64 - 1
NANOS = 10**9


class UInt(int):
    """An unsigned 64-bit integer."""

    __slots__ = ()


class CelType(Struct, frozen=True):
    """A type as a value, as type(x) gives it."""

    name: str


class Optional(Struct, frozen=True):
    """A value that may be absent."""

    value: Any = None
    is_present: bool = False


NONE = Optional()


class Duration(Struct, frozen=True, order=True):
    """A span of time in nanoseconds."""

    nanos: int


class Timestamp(Struct, frozen=True, order=True):
    """A moment, in nanoseconds since 1970."""

    nanos: int

    def moment(self) -> datetime:
        """Return the moment without what is finer than seconds."""
        return datetime.fromtimestamp(self.nanos // NANOS, UTC)


class BoolKey(Enum):
    """A boolean as key of a map."""

    TRUE = True
    FALSE = False


class Domains(dict[str, dict[str, Any]]):
    """The attributes or capacities by domain; a domain that does not exist has none."""

    def __missing__(self, domain: str) -> dict[str, Any]:
        return NOTHING


NOTHING: dict[str, Any] = {}

TYPE_NAMES: dict[type, str] = {
    bool: "bool",
    int: "int",
    UInt: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    type(None): "null_type",
    tuple: "list",
    dict: "map",
    Domains: "map",
    Optional: "optional_type",
    CelType: "type",
    CelQuantity: "kubernetes.Quantity",
    Semver: "kubernetes.Semver",
    Duration: "google.protobuf.Duration",
    Timestamp: "google.protobuf.Timestamp",
    Address: "net.IP",
    Network: "net.CIDR",
    NamedFormat: "kubernetes.NamedFormat",
}
NUMBERS = frozenset({int, UInt, float})
RECEIVERS = frozenset({str, Duration, Timestamp})  # cel-go asks these first, and then does not name the function
MAPS = frozenset({dict, Domains})
OPAQUE = frozenset({CelQuantity, Semver, Address, Network, NamedFormat})


def type_name(value: Any) -> str:
    """Return the name of a value's type."""
    return TYPE_NAMES[type(value)]


def key_of(value: Any) -> Any:
    """Return a value as it is stored as key of a map."""
    if type(value) is bool:
        return BoolKey.TRUE if value else BoolKey.FALSE
    return value


def of_key(key: Any) -> Any:
    """Return the value that a key of a map stands for."""
    return key.value if type(key) is BoolKey else key


def find(entries: dict[Any, Any], key: Any) -> tuple[Any, bool]:
    """Return the value of a key and whether there is one; a number is the same key in all its types."""
    kind = type(key)
    if kind is bool:
        key = key_of(key)
    elif kind not in KEYS:
        return None, False
    if type(entries) is Domains and kind is not str:
        return None, False
    value = entries.get(key, NOT_THERE)
    return (None, False) if value is NOT_THERE else (value, True)


NOT_THERE: Any = object()
KEYS = frozenset({str, int, UInt, float, bool})


def equal(left: Any, right: Any) -> bool:
    """Return whether two values are equal as == has it; some types refuse others on their right."""
    kind, other = type(left), type(right)
    if kind in NUMBERS:
        if kind is float or other is float:
            return other in NUMBERS and float(left) == float(right)  # as Go compares them, with what float loses
        return other in NUMBERS and bool(left == right)
    if kind is tuple:
        return other is tuple and len(left) == len(right) and all(map(same, left, right))
    if kind in MAPS:
        return other in MAPS and len(left) == len(right) and _equal_maps(left, right)
    if kind is Optional:
        return other is Optional and _equal_optionals(left, right)
    if kind in OPAQUE and right is not None:
        return _equal_opaque(left, right)
    return kind is other and bool(left == right)


def same(left: Any, right: Any) -> bool:
    """Return whether two elements are equal; inside a list or map what cannot be compared counts as equal."""
    try:
        return equal(left, right)
    except EvaluationError:
        return True


def is_same(left: Any, right: Any) -> bool:
    """Return whether two values are surely equal; what cannot be compared is not."""
    try:
        return equal(left, right)
    except EvaluationError:
        return False


def _equal_maps(left: dict[Any, Any], right: dict[Any, Any]) -> bool:
    for key, value in left.items():
        other, is_there = find(right, of_key(key))
        if not is_there or not same(value, other):
            return False
    return True


def _equal_optionals(left: Optional, right: Optional) -> bool:
    if not (left.is_present and right.is_present):
        return left.is_present == right.is_present
    return equal(left.value, right.value)


def _equal_opaque(left: Any, right: Any) -> bool:
    if type(left) is not type(right):
        raise no_overload()
    if type(left) is CelQuantity:
        if right.is_made:
            raise no_overload()
        return bool(left.compare(right) == 0)
    return bool(left == right)


def compare(left: Any, right: Any) -> int:
    """Return the order of two values as -1, 0 or 1; raise if they have none."""
    kind, other = type(left), type(right)
    if kind is float and math.isnan(left):
        raise EvaluationError("NaN values cannot be ordered")
    if kind in NUMBERS and other in NUMBERS:
        if kind is float or other is float:
            left, right = float(left), float(right)  # as Go compares them, with what float loses
            if math.isnan(right):
                raise EvaluationError("NaN values cannot be ordered")
        return _sign(left, right)
    if kind is not other or kind not in ORDERED:
        raise no_overload()
    return _sign(left, right)


def _sign(left: Any, right: Any) -> int:
    return int(left > right) - int(left < right)


ORDERED = frozenset({str, bytes, bool, Duration, Timestamp})


def integer(number: int) -> int:
    """Return a 64-bit integer, or raise."""
    if INT_MIN <= number <= INT_MAX:
        return number
    raise EvaluationError("integer overflow")


COMPARABLE_KINDS = frozenset({int, UInt, float}) | ORDERED

# What Go calls them, for the one message that shows it.
GO_NAMES: dict[type, str] = {
    bool: "types.Bool",
    int: "types.Int",
    UInt: "types.Uint",
    float: "types.Double",
    str: "types.String",
    bytes: "types.Bytes",
    type(None): "types.Null",
    tuple: "*types.baseList",
    dict: "*types.baseMap",
    Domains: "cel.mapper",
    Optional: "*types.Optional",
    CelType: "*types.Type",
    CelQuantity: "cel.Quantity",
    Semver: "cel.Semver",
    Duration: "types.Duration",
    Timestamp: "types.Timestamp",
    Address: "cel.IP",
    Network: "cel.CIDR",
    NamedFormat: "cel.Format",
}


def go_name(value: Any) -> str:
    """Return the name of a value's type in Go."""
    name = GO_NAMES[type(value)]
    return f"*{name}" if type(value) is CelQuantity and value.is_made else name


# The same types in the message that an answer is no bool, where it does not follow the rule for numbers.
PLAIN_NAMES: dict[type, str] = {
    float: "Double",
    bytes: "Bytes",
    type(None): "'null_type'",
    tuple: "list",
    dict: "map",
    Domains: "map",
    CelQuantity: "'Quantity'",
    Semver: "'Semver'",
    Address: "'IP'",
    Network: "'CIDR'",
    NamedFormat: "'Format'",
    Duration: "'Duration'",
    Timestamp: "'Timestamp'",
}


def as_bool(value: Any) -> bool:
    """Return a value as Go's bool, or raise with the words of its conversion."""
    kind = type(value)
    if kind is bool:
        return bool(value)
    if kind is Optional:
        if not value.is_present:
            raise EvaluationError("optional.none() dereference")
        return as_bool(value.value)
    if kind is str:
        raise EvaluationError("unsupported native conversion from string to 'bool'")
    if kind is CelType:
        raise EvaluationError("type conversion not supported for 'type'")
    if kind in PLAIN_NAMES:
        raise EvaluationError(f"type conversion error from {PLAIN_NAMES[kind]} to 'bool'")
    raise EvaluationError(f"unsupported type conversion from '{type_name(value)}' to bool")
