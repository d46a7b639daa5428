"""What a controller wants done for one object, as plain data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypeAlias


@dataclass(frozen=True)
class CreatePod:
    """Create a pod; where one of its name is there already, the object is looked at again."""

    manifest: Mapping[str, Any]


@dataclass(frozen=True)
class DeletePod:
    """Delete exactly this pod, not one that took its name."""

    namespace: str
    name: str
    uid: str


PodAction: TypeAlias = CreatePod | DeletePod


@dataclass(frozen=True)
class Outcome:
    """What an object's status should say, and what else is to be done once it does."""

    status: Mapping[str, Any]  # the fields that the controller keeps; those of others are left alone
    spec: Mapping[str, Any] = field(default_factory=dict)  # the same, where results belong into the spec
    actions: tuple[PodAction, ...] = ()
    again: datetime | None = None  # when to look again, whatever happens until then


@dataclass(frozen=True)
class Story:
    """An event about an object."""

    severity: Literal["Normal", "Warning"]
    reason: str
    note: str


def merge_patch(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON merge patch that makes the fields of `new` so; fields that it does not name stay."""
    return {name: _change(old.get(name), value) for name, value in new.items() if old.get(name) != value}


def _change(old: Any, new: Any) -> Any:
    if not (isinstance(old, Mapping) and isinstance(new, Mapping)):
        return new
    # Inside a field that is ours everything is: what is no longer there must go.
    return dict.fromkeys(old.keys() - new.keys()) | merge_patch(old, new)
