"""A Lease of coordination.k8s.io/v1 as an election reads and writes it."""

from datetime import datetime
from typing import Any, Self

import msgspec

from pilotage.cluster.write.microtime import format_microtime

_MOST_TRANSITIONS = 2**31 - 1  # the API server rejects more, and then no candidate could acquire the Lease


class MalformedLease(Exception):
    """A response that is not a Lease, or cannot be written back safely."""


class LeaseRecord:
    """A Lease with all fields, known and unknown, so that nothing is lost when it is written back."""

    __slots__ = ("_document", "spec", "version")

    def __init__(self, document: dict[str, Any]) -> None:
        self._document = document
        self.spec = _mapping(document.get("spec"))
        self.version = _text(_mapping(document.get("metadata")).get("resourceVersion"))

    @classmethod
    def decode(cls, body: bytes) -> Self:
        """Decode a response of the API server."""
        try:
            document = msgspec.json.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise MalformedLease(f"the Lease is not JSON: {error}") from error
        record = cls(_mapping(document))
        if not record.version:
            # Without the version, a write could overwrite a newer holder.
            raise MalformedLease("the Lease has no metadata.resourceVersion")
        return record

    @classmethod
    def absent(cls, namespace: str, name: str) -> Self:
        """Return a Lease that does not exist yet."""
        metadata = {"name": name, "namespace": namespace}
        return cls({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata})

    @property
    def holder(self) -> str:
        """The holder of the Lease; empty if it is free."""
        return _text(self.spec.get("holderIdentity"))

    @property
    def duration(self) -> int | None:
        """The seconds for which an unchanged record is valid, if specified."""
        return _positive(self.spec.get("leaseDurationSeconds"))

    def held_by(self, identity: str, seconds: int, now: datetime) -> "LeaseRecord":
        """Return the record for a new holder, or the same one with a new time."""
        moment = format_microtime(now)
        transitions = _positive(self.spec.get("leaseTransitions")) or 0
        acquired = self.spec.get("acquireTime") if self.holder == identity else None
        if self.version and self.holder != identity:
            transitions = min(transitions + 1, _MOST_TRANSITIONS)
        return self._with(identity, seconds, acquired=acquired or moment, renewed=moment, transitions=transitions)

    def released(self, now: datetime) -> "LeaseRecord":
        """Return the record of a free Lease."""
        moment = format_microtime(now)
        transitions = _positive(self.spec.get("leaseTransitions")) or 0
        return self._with("", 1, acquired=moment, renewed=moment, transitions=transitions)

    def encode(self) -> bytes:
        """Encode the object."""
        return msgspec.json.encode(self._document)

    def _with(self, holder: str, seconds: int, *, acquired: str, renewed: str, transitions: int) -> "LeaseRecord":
        metadata = {key: value for key, value in self._document["metadata"].items() if key != "managedFields"}
        spec = self.spec | {
            "holderIdentity": holder,
            "leaseDurationSeconds": seconds,
            "acquireTime": acquired,
            "renewTime": renewed,
            "leaseTransitions": transitions,
        }
        return LeaseRecord(self._document | {"metadata": metadata, "spec": spec})


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _positive(value: object) -> int | None:
    return value if type(value) is int and value > 0 else None
