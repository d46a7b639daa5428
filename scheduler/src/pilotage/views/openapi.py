"""The OpenAPI description of the read API, generated from its paths and structs."""

from typing import Any

import msgspec

from pilotage.views import answers
from pilotage.views.answers import PREFIX
from pilotage.views.paths import PATHS, Path

REF = "#/components/schemas/{name}"
ERRORS = {
    "400": "A parameter is invalid; the message names it.",
    "401": "The token or certificate is missing or invalid.",
    "403": "You may not see this.",
    "404": "It does not exist.",
    "410": "The continue token has expired; start again without it.",
    "429": "Too many streams are open.",
    "503": "Only the leader answers this (the details name it), or the scheduler is busy (see Retry-After).",
}


def openapi(version: str) -> dict[str, Any]:
    """Return the description."""
    kinds = [path.answer for path in PATHS if path.answer is not None]
    streamed = [answers.Hello, answers.Batch, answers.Resync]
    _, schemas = msgspec.json.schema_components([*kinds, *streamed, answers.Status], ref_template=REF)
    paths: dict[str, Any] = {}
    for path in PATHS:
        paths.setdefault(PREFIX + path.path, {})[path.method.lower()] = _operation(path)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Pilotage",
            "version": version,
            "description": "What a Pilotage scheduler knows and decides. Fields are added, never renamed or removed.",
        },
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": dict(sorted(schemas.items())),
        },
    }


def _operation(path: Path) -> dict[str, Any]:
    leader = " Only the leader answers." if path.leader_only else ""
    return {
        "operationId": path.name,
        "summary": path.summary,
        "description": f"Who may: {path.who}.{leader}",
        "parameters": [*_in_path(path), *_in_query(path)],
        "responses": {"200": _answer(path), **{code: _error(text) for code, text in ERRORS.items()}},
    }


def _in_path(path: Path) -> list[dict[str, Any]]:
    names = [part[1:-1] for part in path.path.split("/") if part.startswith("{")]
    return [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names]


def _in_query(path: Path) -> list[dict[str, Any]]:
    found = []
    for each in path.parameters:
        schema: dict[str, Any] = {"type": each.kind}
        if each.values:
            schema["enum"] = list(each.values)
        found.append({"name": each.name, "in": "query", "description": each.description, "schema": schema})
    return found


def _answer(path: Path) -> dict[str, Any]:
    if path.name == "events":
        return {"description": path.summary, "content": {"text/event-stream": {"schema": {"type": "string"}}}}
    schema: dict[str, Any] = {"type": "object"}
    if path.answer is not None:
        schema = {"$ref": REF.format(name=path.answer.__name__)}
    return {"description": path.summary, "content": {"application/json": {"schema": schema}}}


def _error(text: str) -> dict[str, Any]:
    return {"description": text, "content": {"application/json": {"schema": {"$ref": REF.format(name="Status")}}}}
