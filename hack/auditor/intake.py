"""Between the streams and the ledger: objects are decoded here, and one that cannot be is noted and left out."""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from auditor.claim import Claim, claim_of
from auditor.demand import Note
from auditor.device_slice import DeviceSlice, slice_of
from auditor.ledger import Ledger
from auditor.node import Node, node_of
from auditor.pod import Pod, name_of, pod_of

Decoded = TypeVar("Decoded", Pod, Node, Claim, DeviceSlice)
Raw = dict[str, Any]


def decoded(raws: Iterable[Raw], decode: Callable[[Raw, Note], Decoded], note: Note) -> Iterator[Decoded]:
    """Yield the objects that can be decoded."""
    for raw in raws:
        try:
            yield decode(raw, note)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            note(f"{name_of(raw)} cannot be decoded and is left out: {type(error).__name__} {error}")


class PodIntake:
    """Brings pods into the ledger."""

    def __init__(self, ledger: Ledger, note: Note) -> None:
        self._ledger, self._note = ledger, note

    def listed(self, objects: list[Raw], began: float, seen_until: float) -> None:
        """Take a complete list."""
        self._ledger.pods_listed(decoded(objects, pod_of, self._note), time.time(), began, seen_until)

    def changed(self, found: Raw) -> None:
        """Take a new or changed pod."""
        for pod in decoded([found], pod_of, self._note):
            self._ledger.pod_changed(pod, time.time())

    def gone(self, found: Raw) -> None:
        """Take a deleted pod."""
        self._ledger.pod_gone(found["metadata"]["uid"], time.time())


class NodeIntake:
    """Brings nodes into the ledger."""

    def __init__(self, ledger: Ledger, note: Note) -> None:
        self._ledger, self._note = ledger, note

    def listed(self, objects: list[Raw], began: float, seen_until: float) -> None:
        """Take a complete list."""
        self._ledger.nodes_listed(decoded(objects, node_of, self._note), time.time(), began)

    def changed(self, found: Raw) -> None:
        """Take a new or changed node."""
        for node in decoded([found], node_of, self._note):
            self._ledger.node_changed(node, time.time())

    def gone(self, found: Raw) -> None:
        """Take a deleted node."""
        self._ledger.node_gone(found["metadata"]["name"], time.time())


class ClaimIntake:
    """Brings claims for devices into the ledger."""

    def __init__(self, ledger: Ledger, note: Note) -> None:
        self._devices, self._note = ledger.devices, note

    def listed(self, objects: list[Raw], began: float, seen_until: float) -> None:
        """Take a complete list."""
        self._devices.claims_listed(decoded(objects, claim_of, self._note), time.time(), began)

    def changed(self, found: Raw) -> None:
        """Take a new or changed claim."""
        for claim in decoded([found], claim_of, self._note):
            self._devices.claim_changed(claim, time.time())

    def gone(self, found: Raw) -> None:
        """Take a deleted claim."""
        self._devices.claim_gone(found["metadata"]["uid"])


class SliceIntake:
    """Brings slices of devices into the ledger."""

    def __init__(self, ledger: Ledger, note: Note) -> None:
        self._devices, self._note = ledger.devices, note

    def listed(self, objects: list[Raw], began: float, seen_until: float) -> None:
        """Take a complete list."""
        self._devices.slices_listed(decoded(objects, slice_of, self._note), time.time(), began)

    def changed(self, found: Raw) -> None:
        """Take a new or changed slice."""
        for one in decoded([found], slice_of, self._note):
            self._devices.slice_changed(one, time.time())

    def gone(self, found: Raw) -> None:
        """Take a deleted slice."""
        self._devices.slice_gone(found["metadata"]["name"], time.time())
