"""A format as a value."""

from msgspec import Struct


class NamedFormat(Struct, frozen=True):
    """One of the formats that texts can be validated with."""

    name: str
    key: str  # as in format.key()
