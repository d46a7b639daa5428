"""The entry of one plugin in a SchedulerProfile: the patch that switches it, and the status of that change."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

from pilotage.config.defaults import DEFAULT_PLUGINS

Manifest: TypeAlias = dict[str, Any]

NEEDED_BY_ALL = frozenset({"PrioritySort", "DefaultBinder"})  # present even with `base: None`


class Fate(Enum):
    """The result of a change."""

    RUNS = "runs"
    REFUSED = "refused"
    TAKEN_BACK = "taken back"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Switch:
    """A plugin of a profile, and whether to enable it."""

    profile: str
    plugin: str
    on: bool


def steps_to(found: Manifest, wish: Switch) -> list[Manifest]:
    """Return the JSON patch for a switch, which only applies to the version that was read; empty: nothing to do."""
    spec = spec_of(found)
    entries = spec.get("plugins")
    for place, entry in enumerate(entries or ()):
        if entry["name"] == wish.plugin:
            at = f"/spec/plugins/{place}"
            same = {"op": "test", "path": f"{at}/name", "value": wish.plugin}
            is_on = entry.get("enabled", True)
            return [] if is_on == wish.on else [same, {"op": "add", "path": f"{at}/enabled", "value": wish.on}]
    if wish.on == (wish.plugin in base_of(spec)):
        return []
    entry = {"name": wish.plugin} if wish.on else {"name": wish.plugin, "enabled": False}
    if entries is not None:
        return [{"op": "add", "path": "/spec/plugins/-", "value": entry}]
    # If there is no list yet, another writer may add one: only the resourceVersion shows that.
    unchanged = {"op": "test", "path": "/metadata/resourceVersion", "value": found["metadata"]["resourceVersion"]}
    if "spec" not in found:
        return [unchanged, {"op": "add", "path": "/spec", "value": {"plugins": [entry]}}]
    return [unchanged, {"op": "add", "path": "/spec/plugins", "value": [entry]}]


def base_of(spec: Mapping[str, Any]) -> frozenset[str]:
    """Return the plugins that a profile enables by default."""
    return NEEDED_BY_ALL if spec.get("base") == "None" else frozenset(plugin.name for plugin in DEFAULT_PLUGINS)


def fate_of(found: Manifest, generation: int) -> tuple[Fate | None, str, str]:
    """Return the result of a generation, its reason, and the number of replicas that run it; None while unknown."""
    status = found.get("status") or {}
    said = {
        each["type"]: each for each in status.get("conditions") or () if each.get("observedGeneration") == generation
    }
    replicas = str(status.get("replicas", ""))

    def holds(kind: str, wanted: str) -> bool:
        return bool(said.get(kind, {}).get("status") == wanted)

    def message(kind: str) -> str:
        return str(said.get(kind, {}).get("message", ""))

    if generation_of(found) != generation:
        return Fate.UNKNOWN, "the profile was changed again by someone else", replicas
    if holds("Accepted", "False"):
        return Fate.REFUSED, message("Accepted"), replicas
    if holds("RolledBack", "True"):
        return Fate.TAKEN_BACK, message("RolledBack"), replicas
    return Fate.RUNS if holds("Ready", "True") else None, message("Ready"), replicas


def spec_of(found: Manifest) -> Manifest:
    """Return the spec of a profile."""
    return dict(found.get("spec") or {})


def generation_of(found: Manifest) -> int:
    """Return the generation of a spec."""
    return int(found["metadata"]["generation"])
