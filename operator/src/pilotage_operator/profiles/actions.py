"""Actions as plain values, so that deciding and executing stay separate."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeAlias


@dataclass(frozen=True)
class CreateProfile:
    """Create a profile of the values."""

    manifest: Mapping[str, Any]


@dataclass(frozen=True)
class PatchProfile:
    """Bring a profile of the values back in line; nothing happens if it has changed meanwhile."""

    name: str
    patch: Mapping[str, Any]


@dataclass(frozen=True)
class DeleteProfile:
    """Delete a profile that was removed from the values, but not another one of its name."""

    name: str
    uid: str


@dataclass(frozen=True)
class PatchStatus:
    """Write the status of a profile; nothing happens if it has changed meanwhile."""

    name: str
    patch: Mapping[str, Any]


@dataclass(frozen=True)
class CreateConfigMap:
    """Create the configuration."""

    manifest: Mapping[str, Any]


@dataclass(frozen=True)
class PatchConfigMap:
    """Change the configuration, or bring it back in line."""

    patch: Mapping[str, Any]


@dataclass(frozen=True)
class StampDeployment:
    """Replace the pods of the scheduler, for this configuration."""

    hash: str


@dataclass(frozen=True)
class TellEvent:
    """Write an event about a profile; one with a key only once."""

    name: str
    uid: str
    severity: Literal["Normal", "Warning"]
    reason: str
    note: str
    once: str = ""


@dataclass(frozen=True)
class TellFileEvent:
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
    | TellEvent
    | TellFileEvent
    | WakeUp
)


def difference(old: Any, new: Any) -> dict[str, Any]:
    """Return the merge patch that makes the old map the new one; empty if they are equal."""
    old = old if isinstance(old, Mapping) else {}
    patch: dict[str, Any] = {key: None for key, value in old.items() if key not in new and value is not None}
    for key, value in new.items():
        if key in old and old[key] == value:
            continue
        nested = isinstance(value, Mapping) and isinstance(old.get(key), Mapping)
        patch[key] = difference(old[key], value) if nested else value
    return patch
