"""Remedies, as a viewer may see them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from pilotage.framework.api.remedies import Remedy, as_json
from pilotage.views.answers import RemedyShown
from pilotage.views.viewer import Words


def remedies_shown(found: Iterable[Remedy], words: Words) -> tuple[RemedyShown, ...]:
    """Return remedies without foreign names; those that need one are left out."""
    return tuple(_shown(found, words))


def _shown(found: Iterable[Remedy], words: Words) -> Iterator[RemedyShown]:
    for each in found:
        seen = each.seen_by(words.names_nodes, words.sees)
        if seen is None:
            continue
        shown = msgspec.convert(_plain(as_json(seen)), RemedyShown)
        if not words.names_foreign(msgspec.json.encode(shown).decode()):
            yield shown


def _plain(value: Any) -> Any:
    """Return a value with names as plain text."""
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return str(value) if isinstance(value, str) else value
