"""The entry of one plugin in a SchedulerProfile: the patch that switches it, and what the status says about that."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

from pilotage.config.defaults import DEFAULT_PLUGINS

Manifest: TypeAlias = dict[str, Any]

NEEDED_BY_ALL = frozenset({"PrioritySort", "DefaultBinder"})  # what is there also with `base: None`


class Fate(Enum):
    """What became of a change."""

    RUNS = "runs"
    REFUSED = "refused"
    TAKEN_BACK = "taken back"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Switch:
    """Which plugin of which profile, and whether to enable it."""

    profile: str
    plugin: str
    on: bool


def steps_to(found: Manifest, wish: Switch) -> list[Manifest]:
    """Return the JSON patch for a switch, which applies only to the state that was read; empty: nothing to do."""
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
    # Where there is no list yet, one could be added meanwhile: only the version shows that.
    unchanged = {"op": "test", "path": "/metadata/resourceVersion", "value": found["metadata"]["resourceVersion"]}
    if "spec" not in found:
        return [unchanged, {"op": "add", "path": "/spec", "value": {"plugins": [entry]}}]
    return [unchanged, {"op": "add", "path": "/spec/plugins", "value": [entry]}]


def base_of(spec: Mapping[str, Any]) -> frozenset[str]:
    """Return the plugins that are enabled in a profile that does not mention them."""
    return NEEDED_BY_ALL if spec.get("base") == "None" else frozenset(plugin.name for plugin in DEFAULT_PLUGINS)


def fate_of(found: Manifest, generation: int) -> tuple[Fate | None, str, str]:
    """Return what became of a generation, why, and how many replicas run it; None while that is not known."""
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
    """Return the number that the API server gives to a spec."""
    return int(found["metadata"]["generation"])
