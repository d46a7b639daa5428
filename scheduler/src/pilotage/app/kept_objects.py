"""Whole objects as received, kept beside the decoded ones: extenders need complete pods and nodes."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Generic

import msgspec

from pilotage.cluster.watch.known_objects import Sink
from pilotage.cluster.watch.resources import ApiResource, T
from pilotage.cluster.watch.watch_events import ObjectIdentity
from pilotage.model.extender_messages import without_type


class KeptObjects(Generic[T]):
    """The bytes of all objects of one resource, kept between a reflector and its sink."""

    def __init__(self, resource: ApiResource[T], sink: Sink[T]) -> None:
        self._sink = sink
        self._decode: Callable[[bytes], Any] = msgspec.json.Decoder(resource.shape).decode
        self._build = resource.build
        self._bytes: dict[str, bytes] = {}  # by uid, as last delivered or about to be
        self.resource: ApiResource[T] = replace(resource, shape=msgspec.Raw, build=self._keep)

    def json(self, uid: str) -> bytes | None:
        """Return an object without apiVersion and kind; None if it does not exist."""
        found = self._bytes.get(uid)
        return None if found is None else without_type(found)

    def added(self, new: T) -> None:
        """Pass it on."""
        self._sink.added(new)

    def updated(self, old: T, new: T) -> None:
        """Pass it on."""
        self._sink.updated(old, new)

    def deleted(self, last: T) -> None:
        """Drop the bytes, and pass it on."""
        self._bytes.pop(last.metadata.uid, None)
        self._sink.deleted(last)

    def undecodable(self, metadata: ObjectIdentity, reason: str) -> None:
        """Pass it on."""
        self._sink.undecodable(metadata, reason)

    def vanished(self, metadata: ObjectIdentity) -> None:
        """Pass it on."""
        self._sink.vanished(metadata)

    def _keep(self, raw: msgspec.Raw) -> T:
        whole = bytes(raw)
        made = self._build(self._decode(whole))
        self._bytes[made.metadata.uid] = whole
        return made
