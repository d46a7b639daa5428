"""Data against a JSON Schema as msgspec writes it: every fault, and every field that the schema does not know."""

import json
from collections.abc import Iterator
from typing import Any

from localcluster.paths import REPOSITORY

SCHEMAS = REPOSITORY / "docs/schemas"
Schema = dict[str, Any]
TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
KNOWN = {
    *("$schema", "$ref", "$defs", "title", "description", "default", "discriminator", "type", "enum", "const"),
    *("anyOf", "properties", "required", "additionalProperties", "items", "format"),
}


def faults(name: str, data: Any) -> list[str]:
    """Return what speaks against data being what a schema of docs/schemas describes."""
    schema = json.loads((SCHEMAS / f"{name}.json").read_text())
    return list(_faults(data, schema, schema.get("$defs", {}), "$"))


def _faults(data: Any, schema: Schema, defs: Schema, at: str) -> Iterator[str]:
    assert set(schema) <= KNOWN, f"this knows nothing of {set(schema) - KNOWN}"
    if "$ref" in schema:
        schema = defs[schema["$ref"].rpartition("/")[2]]
    if "anyOf" in schema:
        tried = [list(_faults(data, each, defs, at)) for each in schema["anyOf"]]
        yield from min(tried, key=len)
        return
    wanted = schema.get("type")
    if wanted is not None and not _is(data, wanted):
        yield f"{at}: {data!r} is no {wanted}"
        return
    if "enum" in schema and data not in schema["enum"]:
        yield f"{at}: {data!r} is none of {schema['enum']}"
    if isinstance(data, dict):
        yield from _of_object(data, schema, defs, at)
    elif isinstance(data, list):
        for place, each in enumerate(data):
            yield from _faults(each, schema.get("items", {}), defs, f"{at}[{place}]")


def _is(data: Any, wanted: str | list[str]) -> bool:
    names = [wanted] if isinstance(wanted, str) else wanted
    # To Python a truth is a number, to JSON it is not.
    return any(isinstance(data, TYPES[name]) and (name == "boolean" or not isinstance(data, bool)) for name in names)


def _of_object(data: dict[str, Any], schema: Schema, defs: Schema, at: str) -> Iterator[str]:
    properties, others = schema.get("properties", {}), schema.get("additionalProperties")
    for name in schema.get("required", ()):
        if name not in data:
            yield f"{at}: {name} is missing"
    for name, value in data.items():
        if name in properties:
            yield from _faults(value, properties[name], defs, f"{at}.{name}")
        elif isinstance(others, dict):
            yield from _faults(value, others, defs, f"{at}.{name}")
        elif properties:
            yield f"{at}: {name} is not in the schema"
