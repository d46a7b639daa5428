"""What tells two specs or two texts apart, in sixteen digits."""

import json
from hashlib import sha256
from typing import Any

_DIGITS = 16


def canonical(value: Any) -> str:
    """Return JSON that is the same for equal values."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def spec_hash(spec: Any) -> str:
    """Return the hash of a spec as the API server has it."""
    return text_hash(canonical(spec))


def text_hash(text: str) -> str:
    """Return the hash of a text."""
    return sha256(text.encode(errors="surrogatepass")).hexdigest()[:_DIGITS]
