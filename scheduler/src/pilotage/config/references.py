"""Resolves anchors, aliases and merge keys of YAML, within limits."""

from typing import Any


class TooMuch(Exception):
    """References that cannot be resolved; the message says why."""


class References:
    """The anchors of a document; aliases are copied, so that two places never share one value."""

    def __init__(self, most: int) -> None:
        self.known: dict[str, Any] = {}
        self._most = most
        self._left = most

    def forget(self) -> None:
        """Drop all anchors, for the next document."""
        self.known.clear()

    def copy(self, anchor: str, unfinished: list[Any], depth: int) -> Any:
        """Return a copy of an alias's value, with a maximum depth; an alias inside of its own anchor is an error."""
        if anchor not in self.known:
            raise TooMuch(f"*{anchor} refers to nothing; an anchor &{anchor} must stand before it")
        value = self.known[anchor]
        if any(value is container for container in unfinished):
            raise TooMuch(f"*{anchor} stands inside of what it refers to")
        return self._copied(value, depth)

    def _copied(self, value: Any, depth: int) -> Any:
        self._left -= 1
        if self._left < 0:
            raise TooMuch(f"references stand for more than {self._most} values")
        if not isinstance(value, dict | list):
            return value
        if depth < 1:
            raise TooMuch("nested too deeply, by way of references")
        if isinstance(value, dict):
            return {key: self._copied(inner, depth - 1) for key, inner in value.items()}
        return [self._copied(inner, depth - 1) for inner in value]


def merge(fields: dict[str, Any], merged: list[Any]) -> None:
    """Add the fields of the maps that << names, unless the key exists already."""
    for given in merged:
        for source in given if isinstance(given, list) else [given]:
            if not isinstance(source, dict):
                raise TooMuch("<< takes a map, or a list of maps")
            for key, value in source.items():
                fields.setdefault(key, value)
