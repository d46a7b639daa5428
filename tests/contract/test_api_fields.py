"""Fields of the read API are added, never renamed or removed: a list has all of them."""

from pathlib import Path

from pilotage.views.openapi import openapi

LIST = Path(__file__).with_name("api_fields.txt")


def fields() -> set[str]:
    """Return every field of every answer, and every parameter of every path."""
    description = openapi("0")
    found = {
        f"{kind}.{field}"
        for kind, schema in description["components"]["schemas"].items()
        for field in schema.get("properties", ())
    }
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            found |= {f"{method} {path} {each['name']}" for each in operation["parameters"]} | {f"{method} {path}"}
    return found


def test_nothing_is_renamed_or_removed() -> None:
    assert set(LIST.read_text().splitlines()) - fields() == set()


def test_what_is_new_is_in_the_list() -> None:
    assert fields() - set(LIST.read_text().splitlines()) == set(), (
        f"add these to {LIST.name}; they cannot be removed later"
    )
