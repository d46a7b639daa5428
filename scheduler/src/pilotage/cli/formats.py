"""Data as JSON or YAML, for people and for programs."""

import json
from collections.abc import Callable
from typing import Any


def as_json(data: Any) -> str:
    """Return data as JSON, indented."""
    return json.dumps(data, indent=2, ensure_ascii=False)


def as_yaml(data: Any) -> str:
    """Return data as YAML, in the order that it has."""
    import yaml  # only this format needs it

    dumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    # By way of JSON: YAML knows no subclasses of plain types, and writes what stands in two places as an alias.
    plain = json.loads(json.dumps(data))
    return str(yaml.dump(plain, Dumper=dumper, sort_keys=False, allow_unicode=True, width=2**20)).rstrip("\n")


FORMATS: dict[str, Callable[[Any], str]] = {"json": as_json, "yaml": as_yaml}
