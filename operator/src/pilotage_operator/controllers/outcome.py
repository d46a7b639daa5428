"""The result of a controller for one object, as plain data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypeAlias


@dataclass(frozen=True)
class CreatePod:
    """Create a pod; if the name is taken, the object is reconciled again."""

    manifest: Mapping[str, Any]


@dataclass(frozen=True)
class DeletePod:
    """Delete exactly this pod, not a successor of the same name."""

    namespace: str
    name: str
    uid: str


PodAction: TypeAlias = CreatePod | DeletePod


@dataclass(frozen=True)
class Outcome:
    """The desired status of an object, and further actions after it is written."""

    status: Mapping[str, Any]  # the fields that the controller owns; others are unchanged
    spec: Mapping[str, Any] = field(default_factory=dict)  # the same for the spec, if it contains results
    actions: tuple[PodAction, ...] = ()
    again: datetime | None = None  # the latest time of the next reconciliation


@dataclass(frozen=True)
class StatusEvent:
    """An event about an object."""

    severity: Literal["Normal", "Warning"]
    reason: str
    note: str


def merge_patch(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON merge patch for the fields of `new`; other fields stay."""
    return {name: _change(old.get(name), value) for name, value in new.items() if old.get(name) != value}


def _change(old: Any, new: Any) -> Any:
    if not (isinstance(old, Mapping) and isinstance(new, Mapping)):
        return new
    # We own our fields completely: entries that are no longer desired must be removed.
    return dict.fromkeys(old.keys() - new.keys()) | merge_patch(old, new)
