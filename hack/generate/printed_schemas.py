"""The JSON Schemas of what commands print for programs, from the types in `pilotage.views.printed`."""

import json
from collections.abc import Callable
from functools import partial

import msgspec

from pilotage.views.printed import PRINTED

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def files() -> dict[str, Callable[[], str]]:
    """Return each file, and what makes its text."""
    return {f"docs/schemas/{name}.json": partial(text, name) for name in PRINTED}


def text(name: str) -> str:
    """Return docs/schemas/NAME.json."""
    title = f"pilotage {name.replace('top-', 'top ')} -o json"
    schema = {"$schema": DIALECT, "title": title, **msgspec.json.schema(PRINTED[name])}
    return json.dumps(schema, indent=1) + "\n"
