"""Actions as plain values, to separate decisions from their execution."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeAlias


@dataclass(frozen=True)
class CreateProfile:
    """Create a profile of the chart's values."""

    manifest: Mapping[str, Any]


@dataclass(frozen=True)
class PatchProfile:
    """Update a profile of the chart's values, unless it has changed meanwhile."""

    name: str
    patch: Mapping[str, Any]


@dataclass(frozen=True)
class DeleteProfile:
    """Delete a profile that was removed from the values, but not a successor of the same name."""

    name: str
    uid: str


@dataclass(frozen=True)
class PatchStatus:
    """Write the status of a profile, unless it has changed meanwhile."""

    name: str
    patch: Mapping[str, Any]


@dataclass(frozen=True)
class CreateConfigMap:
    """Create the ConfigMap with the configuration."""

    manifest: Mapping[str, Any]


@dataclass(frozen=True)
class PatchConfigMap:
    """Update or repair the ConfigMap with the configuration."""

    patch: Mapping[str, Any]


@dataclass(frozen=True)
class StampDeployment:
    """Restart the pods of the scheduler for this configuration."""

    hash: str


@dataclass(frozen=True)
class WriteEvent:
    """Write an event about a profile; with a key, only once."""

    name: str
    uid: str
    severity: Literal["Normal", "Warning"]
    reason: str
    note: str
    once: str = ""


@dataclass(frozen=True)
class WriteFileEvent:
    """Write an event about an invalid plugin file of a ConfigMap; only once."""

    name: str
    uid: str
    note: str
    once: str


@dataclass(frozen=True)
class WakeUp:
    """Reconcile again at this time, even if nothing changes."""

    at: datetime


Action: TypeAlias = (
    CreateProfile
    | PatchProfile
    | DeleteProfile
    | PatchStatus
    | CreateConfigMap
    | PatchConfigMap
    | StampDeployment
    | WriteEvent
    | WriteFileEvent
    | WakeUp
)


def difference(old: Any, new: Any) -> dict[str, Any]:
    """Return the merge patch from the old map to the new one; empty if they are equal."""
    old = old if isinstance(old, Mapping) else {}
    patch: dict[str, Any] = {key: None for key, value in old.items() if key not in new and value is not None}
    for key, value in new.items():
        if key in old and old[key] == value:
            continue
        nested = isinstance(value, Mapping) and isinstance(old.get(key), Mapping)
        patch[key] = difference(old[key], value) if nested else value
    return patch
