"""What must be allowed to whoever reads the objects that a plugin looks up."""

from typing import Any

from pilotage.framework.api.plugin import Permission, Plugin
from pilotage.model.decoding import KINDS

READING = ("list", "watch")


def rights_to_read(plugin: Plugin | type[Plugin]) -> list[Permission]:
    """Return the rights to see the objects that a plugin reads, in its own order."""
    return [Permission(group, plural(kind), READING) for group, kind in map(group_and_kind, plugin.reads)]


def group_and_kind(kind: type[Any]) -> tuple[str, str]:
    """Return how the API names the kind of an object."""
    return next(known for known, found in KINDS.items() if found is kind)


def plural(kind: str) -> str:
    """Return the resource that holds objects of a kind."""
    name = kind.lower()
    if name.endswith("y"):
        return f"{name[:-1]}ies"
    return f"{name}es" if name.endswith("s") else f"{name}s"
