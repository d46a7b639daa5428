"""Decodes a document strictly into the typed configuration, with a hint for each value of a wrong type."""

from typing import Any

from pilotage.config.documents import Document
from pilotage.config.faults import Fault, Stage
from pilotage.config.json_text import looks_like_json
from pilotage.config.kinds import not_registered
from pilotage.config.strict_reading import read_section
from pilotage.config.types import API_VERSION, KIND, KubeSchedulerConfiguration


def decode(document: Document) -> tuple[KubeSchedulerConfiguration | None, list[Fault]]:
    """The valid part of the configuration, and an error for every unknown field and wrong type."""
    wrong_kind = _wrong_kind(document.value)
    if wrong_kind:
        return None, [wrong_kind]
    # kube-scheduler converts YAML to JSON with sorted keys, and reports errors in that order.
    value = document.value if looks_like_json(document.data) else _sorted(document.value)
    return read_section(KubeSchedulerConfiguration, value)


def _wrong_kind(value: Any) -> Fault | None:
    given = value if isinstance(value, dict) else {}
    kind, version = given.get("kind"), given.get("apiVersion")
    hint = f"the file begins with apiVersion: {API_VERSION} and kind: {KIND}"
    if not isinstance(value, dict) and value is not None:
        return Fault(Stage.DECODING, "couldn't get version/kind: the file is not a map", (), hint)
    if not kind:
        return Fault(Stage.DECODING, "Object 'Kind' is missing", (), hint)
    if not version:
        return Fault(Stage.DECODING, "Object 'apiVersion' is missing", (), hint)
    if (version, kind) != (API_VERSION, KIND):
        return Fault(Stage.DECODING, not_registered(kind, version), ("apiVersion",), _older(kind, version) or hint)
    return None


def _older(kind: object, version: object) -> str:
    """The hint for a version that kube-scheduler used to read."""
    is_ours = kind == KIND and str(version).partition("/")[0] == API_VERSION.partition("/")[0]
    return f"use {API_VERSION}; `pilotage convert FILE -o config` converts older versions" if is_ours else ""


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(part) for part in value] if isinstance(value, list) else value
