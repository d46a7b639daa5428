"""Data as JSON or YAML."""

import json
from collections.abc import Callable
from typing import Any


def as_json(data: Any) -> str:
    """Return data as JSON, indented."""
    return json.dumps(data, indent=2, ensure_ascii=False)


def as_yaml(data: Any) -> str:
    """Return data as YAML, in the order of its keys."""
    import yaml  # only this format needs it

    dumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    # Through JSON: YAML rejects subclasses of plain types, and would write aliases for repeated values.
    plain = json.loads(json.dumps(data))
    return str(yaml.dump(plain, Dumper=dumper, sort_keys=False, allow_unicode=True, width=2**20)).rstrip("\n")


FORMATS: dict[str, Callable[[Any], str]] = {"json": as_json, "yaml": as_yaml}
