"""The chart's values.schema.json and README.md, made from values.yaml and the comments in it."""

import json
from pathlib import Path
from typing import Any

from generate.structural_schema import structural_schema
from generate.values_comments import Undocumented, Value, read_values
from localcluster.paths import REPOSITORY
from pilotage.scheduler_profiles.resource import Spec

CHART = Path("charts/pilotage")
INTRODUCTION = Path("hack/generate/chart_readme.md")
PLACE = "<!-- values -->"

TYPES = {bool: "boolean", int: "integer", str: "string", list: "array", dict: "object"}

# What several values refer to by {$ref: "#/$defs/..."}.
IMAGE: dict[str, Any] = {
    "oneOf": [
        {"type": "null"},
        {"type": "string", "minLength": 1},
        {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "registry": {"type": "string"},
                "repository": {"type": "string"},
                "tag": {"type": "string"},
                "digest": {"type": "string", "pattern": "^(sha256:[0-9a-f]{64})?$"},
                "pullPolicy": {"enum": ["Always", "IfNotPresent", "Never"]},
            },
        },
    ]
}
RESOURCE_NAME = {"type": "string", "maxLength": 253, "pattern": "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"}


def outputs(root: Path) -> dict[Path, str]:
    """Return the generated files and their texts."""
    return {root / CHART / "values.schema.json": schema_text(root), root / CHART / "README.md": readme_text(root)}


def schema_text(root: Path = REPOSITORY) -> str:
    """The schema, whole."""
    return json.dumps(schema(read_values(root / CHART / "values.yaml")), indent=2, ensure_ascii=False) + "\n"


def readme_text(root: Path = REPOSITORY) -> str:
    """The README, whole: an introduction, and a table for each part of the values."""
    introduction = (root / INTRODUCTION).read_text(encoding="utf-8")
    return introduction.replace(PLACE, "\n\n".join(_chapters(read_values(root / CHART / "values.yaml"))))


# --- The schema


def schema(values: tuple[Value, ...]) -> dict[str, Any]:
    """Return the schema of all values; what it does not know is refused."""
    parents = {"global": {"description": "Values that a parent chart shares with all its parts.", "type": "object"}}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Values of the Pilotage chart",
        "type": "object",
        "additionalProperties": False,
        "properties": parents | {value.path[-1]: _schema(value) for value in values},
        "$defs": {
            "image": IMAGE,
            "resourceName": RESOURCE_NAME,
            "enabledPlugin": _enabled_plugin(),
            "profileSpec": _spec(),
        },
    }


def _schema(value: Value) -> dict[str, Any]:
    described = {"description": value.description} if value.description else {}
    if value.parts:
        parts = {part.path[-1]: _schema(part) for part in value.parts}
        return described | {"type": "object", "additionalProperties": False, "properties": parts}
    if "$ref" in value.schema or "enum" in value.schema:  # only these matter
        return described | value.schema
    if "type" not in value.schema and type(value.default) not in TYPES:
        raise Undocumented(f"{value.name}: what is allowed in place of {value.default!r} must be told by @schema")
    return described | {"type": TYPES.get(type(value.default))} | value.schema


def _spec() -> dict[str, Any]:
    """Return the spec of a SchedulerProfile, as the API server would judge it but for its rules across fields."""
    spec: dict[str, Any] = _closed(structural_schema(Spec))
    return spec


def _enabled_plugin() -> dict[str, Any]:
    """Return one plugin of plugins.enabled: its arguments are in pluginConfig, and it is enabled."""
    entry: dict[str, Any] = _spec()["properties"]["plugins"]["items"]
    for elsewhere in ("args", "enabled"):
        del entry["properties"][elsewhere]
    return entry


def _closed(given: Any) -> Any:
    """Return a structural schema as JSON Schema that refuses fields which the API server would drop."""
    if isinstance(given, list):
        return [_closed(each) for each in given]
    if not isinstance(given, dict):
        return given
    kept = {key: _closed(each) for key, each in given.items() if not key.startswith("x-kubernetes-")}
    is_object = given.get("type") == "object" and "properties" in given
    return kept | ({"additionalProperties": False} if is_object else {})


# --- The README


def _chapters(values: tuple[Value, ...]) -> list[str]:
    alone = [value for value in values if not value.parts]
    chapters = [_chapter(value) for value in values if value.parts]
    return [*chapters, f"### Everything else\n\n{_table(alone)}"]


def _chapter(value: Value) -> str:
    head = [f"### {value.name}", value.description, _table(list(value.leaves()))]
    return "\n\n".join(part for part in head if part)


def _table(values: list[Value]) -> str:
    rows = [f"| `{value.name}` | {_default(value)} | {_cell(_meaning(value))} |" for value in values]
    return "\n".join(["| value | default | meaning |", "| --- | --- | --- |", *rows])


def _meaning(value: Value) -> str:
    choices = value.schema.get("enum")
    return f"{value.description} One of {', '.join(f'`{each}`' for each in choices)}." if choices else value.description


def _default(value: Value) -> str:
    return f"`{_cell(json.dumps(value.default, ensure_ascii=False))}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
