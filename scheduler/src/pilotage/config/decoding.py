"""From a document to the typed configuration: strictly, and with the fix for each value of a wrong type."""

from copy import deepcopy
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from pilotage.config.arguments import not_registered
from pilotage.config.documents import At, Document
from pilotage.config.faults import Fault, Stage, dotted, go_json
from pilotage.config.suggestions import did_you_mean, fields_at
from pilotage.config.types import API_VERSION, KIND, KubeSchedulerConfiguration

_UNKNOWN_FIELD = "extra_forbidden"
_WANTED = {
    "string_type": "a string",
    "bool_type": "true or false",
    "whole_number": "a whole number of {bits} bits",
    "number": "a number of 32 bits",
    "duration": "a duration such as 15s or 1m30s",
    "base64": "base64 text",
    "tuple_type": "a list",
    "model_type": "a map",
    "model_attributes_type": "a map",
}


def decode(document: Document) -> tuple[KubeSchedulerConfiguration | None, list[Fault]]:
    """The configuration as far as it can be read, and every field that is unknown or of the wrong type."""
    wrong_kind = _wrong_kind(document.value)
    if wrong_kind:
        return None, [wrong_kind]
    try:
        return KubeSchedulerConfiguration.model_validate(document.value), []
    except ValidationError as error:
        # The same order as kube-scheduler's, which goes through the keys by name.
        found = sorted(error.errors(include_url=False), key=lambda one: [str(part) for part in one["loc"]])
    unknown = [one["loc"] for one in found if one["type"] == _UNKNOWN_FIELD]
    faults = [_fault(document, one) for one in found]
    if len(unknown) < len(found):
        return None, faults
    # What is known may hold more faults, and all are to be told at once.
    return KubeSchedulerConfiguration.model_validate(_without(document.value, unknown)), faults


def _wrong_kind(value: Any) -> Fault | None:
    given = value if isinstance(value, dict) else {}
    kind, version = given.get("kind"), given.get("apiVersion")
    hint = f"the file begins with apiVersion: {API_VERSION} and kind: {KIND}"
    if not isinstance(value, dict) and value is not None:
        return Fault(Stage.DECODING, "couldn't get version/kind: the file is no map", (), hint)
    if not kind:
        return Fault(Stage.DECODING, "Object 'Kind' is missing", (), hint)
    if not version:
        return Fault(Stage.DECODING, "Object 'apiVersion' is missing", (), hint)
    if (version, kind) != (API_VERSION, KIND):
        return Fault(Stage.DECODING, not_registered(kind, version), ("apiVersion",), hint)
    return None


def _fault(document: Document, error: ErrorDetails) -> Fault:
    at: At = error["loc"]
    if error["type"] == _UNKNOWN_FIELD:
        hint = did_you_mean(str(at[-1]), fields_at(at[:-1]))
        return Fault(Stage.STRICTNESS, f'unknown field "{dotted(at)}"', at, hint)
    wanted = _WANTED.get(error["type"], error["msg"]).format(**error.get("ctx", {}))
    text = f"{dotted(at)}: must be {wanted}, not {_shown(error['input'])}"
    return Fault(Stage.DECODING, text, at, _fix(document, at, error))


def _fix(document: Document, at: At, error: ErrorDetails) -> str:
    value, word = error["input"], document.spot(at).word
    if error["type"] in ("string_type", "duration", "base64") and word is not None and not isinstance(value, str):
        if error["type"] == "duration":
            return f"add a unit: {word}s" if type(value) in (int, float) else ""
        return f'YAML takes a bare {word} for {_shown(value)}; quote it: "{word}"'
    if error["type"] in ("whole_number", "number") and isinstance(value, str) and word is None:
        return "leave out the quotes" if value.strip("-").isdigit() else ""
    return ""


def _shown(value: Any) -> str:
    text = go_json(value)
    return f"{_kind(value)} {text}".strip() if len(text) <= 40 else _kind(value)


def _kind(value: Any) -> str:
    kinds = {bool: "the boolean", int: "the number", float: "the number", str: "the string", list: "a list"}
    return kinds.get(type(value), "a map" if isinstance(value, dict) else "")


def _without(value: Any, unknown: list[At]) -> Any:
    known = deepcopy(value)
    for at in unknown:
        inside = known
        for part in at[:-1]:
            inside = inside[part]
        del inside[at[-1]]
    return known
