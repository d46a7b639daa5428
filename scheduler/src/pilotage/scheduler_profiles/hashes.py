"""Hashes of specs and texts, in sixteen digits."""

import json
from collections.abc import Sequence
from typing import Any

from pilotage.config.handshake import PluginFile, text_hash


def canonical(value: Any) -> str:
    """Return JSON that is the same for equal values."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def spec_hash(spec: Any, files: Sequence[PluginFile] = ()) -> str:
    """Return the hash of a spec as stored in the API server, and of its plugin files."""
    if not files:
        return text_hash(canonical(spec))
    return text_hash(canonical({"spec": spec, "files": {file.path: file.hash for file in files}}))
