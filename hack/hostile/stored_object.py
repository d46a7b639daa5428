"""One object as an API server keeps it: encoded once, so that a change of its node or status costs next to nothing."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from pilotage.testing import Manifest

# Go writes these three as escapes, so a megabyte of them becomes six on the wire.
ESCAPES = {b"<": b"\\u003c", b">": b"\\u003e", b"&": b"\\u0026"}
_SPECIAL = re.compile(b"[<>&]")


def wire(value: Any) -> bytes:
    """Return JSON as the API server writes it."""
    return _SPECIAL.sub(lambda found: ESCAPES[found[0]], msgspec.json.encode(value))


def members(value: Manifest) -> bytes:
    """Return the members of an object, without its braces."""
    return wire(value)[1:-1]


class StoredObject:
    """An object whose large parts never change."""

    def __init__(self, manifest: Manifest) -> None:
        metadata, spec = dict(manifest["metadata"]), dict(manifest.get("spec", {}))
        self.namespace: str = metadata.get("namespace", "")
        self.name: str = metadata["name"]
        self.kind: str = manifest["kind"]
        self.version = 0
        self.annotations: dict[str, str] = metadata.pop("annotations", {})
        self.finalizers: list[str] = metadata.pop("finalizers", [])
        self.node: str = spec.pop("nodeName", "")
        self.status: Manifest = dict(manifest.get("status", {}))
        self.is_leaving = False
        self.spec = spec
        self._metadata = members(metadata)
        self._spec = members(spec)
        rest = {key: value for key, value in manifest.items() if key not in ("metadata", "spec", "status")}
        self._rest = members(rest)

    @property
    def key(self) -> str:
        """Return namespace/name, or the name."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    def json(self) -> bytes:
        """Return the whole current object."""
        leaving = b'"deletionTimestamp":"2026-01-01T00:00:00Z",' if self.is_leaving else b""
        node = wire({"nodeName": self.node})[1:-1] + b"," if self.node else b""
        kept = b'"finalizers":%b,' % wire(self.finalizers) if self.finalizers else b""
        annotations = wire(self.annotations)
        head = b'"resourceVersion":"%d",%b%b"annotations":%b' % (self.version, leaving, kept, annotations)
        metadata = b'"metadata":{%b,%b}' % (head, self._metadata)
        spec = b'"spec":{%b}' % (node + self._spec).rstrip(b",") if node or self._spec else b'"spec":{}'
        return b'{%b,%b,%b,"status":%b}' % (self._rest, metadata, spec, wire(self.status))

    def line(self, change: str) -> bytes:
        """Return a line of a watch."""
        return b'{"type":"%b","object":%b}\n' % (change.encode(), self.json())

    def annotate(self, patch: Mapping[str, str | None]) -> None:
        """Change annotations as a merge patch does."""
        merged = {**self.annotations, **patch}
        self.annotations = {key: value for key, value in merged.items() if value is not None}

    def patch_status(self, patch: Manifest) -> None:
        """Change the status as a strategic merge patch does."""
        for key, value in patch.items():
            if value is None:
                self.status.pop(key, None)
            elif key == "conditions":
                self.status[key] = _merged(self.status.get(key, []), value)
            else:
                self.status[key] = value


def _merged(before: list[Manifest], news: list[Manifest]) -> list[Manifest]:
    by_type = {each["type"]: each for each in before}
    for each in news:
        if "type" in each:
            by_type[each["type"]] = {**by_type.get(each["type"], {}), **each}
    return list(by_type.values())
