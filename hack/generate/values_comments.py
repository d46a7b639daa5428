"""Reads a chart's values.yaml together with its comments, which are the documentation of the values."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

SCHEMA = "@schema"


class Undocumented(ValueError):
    """A value has no comment, or one that cannot be used; the text says which."""


@dataclass(frozen=True)
class Value:
    """One value: where it is, its default, what its comment says, and the values in it."""

    path: tuple[str, ...]
    default: Any
    description: str
    schema: dict[str, Any]  # what the comment says about what is allowed
    parts: tuple["Value", ...]

    @property
    def name(self) -> str:
        """Return the path as people write it behind --set."""
        return ".".join(self.path)

    def leaves(self) -> Iterator["Value"]:
        """Walk through the values that have no values in them, in the order of the file."""
        if not self.parts:
            yield self
        for part in self.parts:
            yield from part.leaves()


def read_values(path: Path) -> tuple[Value, ...]:
    """Return the values of the top level."""
    text = path.read_text(encoding="utf-8")
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    if not isinstance(root, yaml.MappingNode):
        raise Undocumented(f"{path.name} is no map")
    return tuple(_values(root, yaml.safe_load(text), text.splitlines(), ()))


def _values(
    node: yaml.MappingNode, defaults: dict[str, Any], lines: list[str], above: tuple[str, ...]
) -> Iterator[Value]:
    for key, content in node.value:
        path, default = (*above, key.value), defaults[key.value]
        description, schema = _comment(lines, key.start_mark.line, ".".join(path))
        is_section = isinstance(content, yaml.MappingNode) and bool(default) and "additionalProperties" not in schema
        parts = tuple(_values(content, default, lines, path)) if is_section else ()
        if not parts and not description:
            raise Undocumented(f"values.yaml:{key.start_mark.line + 1}: {'.'.join(path)} has no comment above it")
        yield Value(path, default, description, schema, parts)


def _comment(lines: list[str], at: int, name: str) -> tuple[str, dict[str, Any]]:
    """Return what the comment directly above a line says, in words and in schema."""
    first = at
    while first and re.match(r"\s*#", lines[first - 1]):
        first -= 1
    said = [line.strip().removeprefix("#").strip() for line in lines[first:at]]
    words = [line for line in said if not line.startswith(SCHEMA)]
    schema: dict[str, Any] = {}
    for line in said:
        if line.startswith(SCHEMA):
            try:
                schema |= yaml.safe_load(line.removeprefix(SCHEMA))
            except (yaml.YAMLError, TypeError, ValueError) as error:
                raise Undocumented(f"values.yaml: the {SCHEMA} of {name} is no map: {error}") from error
    return " ".join(words), schema
