"""State of earlier rounds, stored only in the resources, so that a crash loses nothing."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from pilotage.config.handshake import PluginFile
from pilotage.scheduler_profiles.hashes import canonical, spec_hash
from pilotage.scheduler_profiles.resource import Condition, FailedSpec, GoodSpec, Status
from pilotage_operator.profiles.units import Unit, Units
from pilotage_operator.profiles.world import moment


@dataclass(frozen=True)
class Past:
    """The state in a profile's status."""

    instance: str = ""
    applied_at: str = ""
    last_acknowledged: GoodSpec | None = None
    last_good: GoodSpec | None = None
    failed: FailedSpec | None = None
    conditions: Mapping[str, Condition] = field(default_factory=dict)
    nodes: Mapping[str, Any] | None = None

    @property
    def ready_since(self) -> datetime | None:
        """Return since when the profile has been ready; None if it is not."""
        ready = self.conditions.get("Ready")
        return moment(ready.last_transition_time) if ready and ready.status == "True" else None

    def is_true(self, condition: str) -> bool:
        """Return whether a condition is true."""
        found = self.conditions.get(condition)
        return found is not None and found.status == "True"

    def ran_well(self, hash_: str) -> bool:
        """Return whether this spec is the last good one."""
        return self.last_good is not None and self.last_good.spec_hash == hash_

    def has_failed(self, hash_: str) -> bool:
        """Return whether this spec was rolled back."""
        return self.failed is not None and self.failed.spec_hash == hash_


def past_of(status: Any) -> Past:
    """Parse a status, ignoring invalid parts."""
    known = {field_.alias or name for name, field_ in Status.model_fields.items()}
    given = {key: value for key, value in status.items() if key in known} if isinstance(status, dict) else {}
    try:
        found = Status.model_validate(given)
    except ValidationError:
        return Past()
    return Past(
        found.instance or "",
        found.applied_at or "",
        found.last_acknowledged,
        found.last_good,
        found.failed,
        {condition.type: condition for condition in found.conditions},
        None if found.nodes is None else found.nodes.model_dump(mode="json", by_alias=True, exclude_none=True),
    )


@dataclass(frozen=True)
class ServedSpec:
    """The spec of a profile in the configuration."""

    uid: str
    generation: int
    hash: str
    spec: Mapping[str, Any]
    files: tuple[PluginFile, ...] = ()


def served_in(text: str, units: Units) -> dict[str, ServedSpec]:
    """Parse the served spec of each profile; entries that were edited by hand are ignored."""
    try:
        found = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    read = {name: _served(entry, units.get(name, {})) for name, entry in found.items() if isinstance(entry, dict)}
    return {name: served for name, served in read.items() if served is not None}


def _served(entry: dict[str, Any], units: Mapping[str, Unit]) -> ServedSpec | None:
    uid, generation, hash_, spec = (entry.get(key) for key in ("uid", "generation", "hash", "spec"))
    if not (isinstance(uid, str) and isinstance(generation, int) and isinstance(spec, dict)):
        return None
    files = units[hash_].files if isinstance(hash_, str) and hash_ in units else ()
    return ServedSpec(uid, generation, hash_, spec, files) if hash_ == spec_hash(spec, files) else None


def served_text(served: Mapping[str, ServedSpec]) -> str:
    """Encode the served spec of each profile."""
    return canonical(
        {
            name: {"uid": each.uid, "generation": each.generation, "hash": each.hash, "spec": each.spec}
            for name, each in served.items()
        }
    )
