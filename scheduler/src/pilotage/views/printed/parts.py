"""What everything that is printed has in common."""

from msgspec import Struct


class Part(Struct, frozen=True, kw_only=True, rename="camel"):
    """A part of what is printed."""


class Printed(Part, frozen=True, kw_only=True, tag_field="kind", rename="camel"):
    """A whole answer, which says by its kind what it is."""
