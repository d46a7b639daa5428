"""Sentences without the names of nodes, for those who may not list them."""

import re
from collections.abc import Container

_WORD = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")


def without_nodes(text: str, nodes: Container[str]) -> str:
    """Return a text up to the first name of a node in it."""
    for found in _WORD.finditer(text):
        if found[0] in nodes:
            return f"{text[: found.start()].rstrip(' (,:')}..."
    return text
