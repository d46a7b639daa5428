"""Fields of the read API and of what commands print are added, never renamed or removed: lists have all of them."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pilotage.views.openapi import openapi
from pilotage.views.printed import PRINTED

HERE = Path(__file__).parent


def of_the_api() -> Iterator[str]:
    """Yield every field of every answer, and every parameter of every path."""
    description = openapi("0")
    yield from in_schemas(description["components"]["schemas"])
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            yield f"{method} {path}"
            yield from (f"{method} {path} {each['name']}" for each in operation["parameters"])


def of_commands() -> Iterator[str]:
    """Yield every field of what each command prints."""
    for name, printed in PRINTED.items():
        _, schemas = msgspec.json.schema_components([printed])
        yield from (f"{name} {field}" for field in in_schemas(schemas))


def in_schemas(schemas: dict[str, Any]) -> Iterator[str]:
    for kind, schema in schemas.items():
        yield from (f"{kind}.{field}" for field in schema.get("properties", ()))


Fields = Callable[[], Iterator[str]]
LISTS = [
    pytest.param("api_fields.txt", of_the_api, id="the read API"),
    pytest.param("printed_fields.txt", of_commands, id="commands"),
]


@pytest.mark.parametrize(("name", "fields"), LISTS)
def test_nothing_is_renamed_or_removed(name: str, fields: Fields) -> None:
    assert set((HERE / name).read_text().splitlines()) - set(fields()) == set()


@pytest.mark.parametrize(("name", "fields"), LISTS)
def test_what_is_new_is_in_the_list(name: str, fields: Fields) -> None:
    assert set(fields()) - set((HERE / name).read_text().splitlines()) == set(), f"add these to {name}; they stay"
