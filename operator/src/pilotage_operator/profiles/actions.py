"""What there is to do: plain values, so that deciding and doing stay apart."""

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
    """Delete a profile that the values have dropped, and no other of its name."""

    name: str
    uid: str


@dataclass(frozen=True)
class PatchStatus:
    """Write what has become of a profile; nothing happens if it has changed meanwhile."""

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
    """Have the pods of the scheduler replaced, for this configuration."""

    hash: str


@dataclass(frozen=True)
class TellEvent:
    """Tell what happened on a profile; one with a key is told once only."""

    name: str
    uid: str
    severity: Literal["Normal", "Warning"]
    reason: str
    note: str
    once: str = ""


@dataclass(frozen=True)
class TellFileEvent:
    """Tell on a ConfigMap with plugin files that one of them cannot be used; once only."""

    name: str
    uid: str
    note: str
    once: str


@dataclass(frozen=True)
class WakeUp:
    """Look again at this time, even if nothing changes."""

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
