"""The effective plugins of a SchedulerProfile, so that two profiles can be compared."""

from collections.abc import Mapping
from typing import Any

from pilotage.app import profiles_configured
from pilotage.config.load import effective
from pilotage.offline.manifest_entries import Place, WrittenProfile
from pilotage.plugins.catalogue import PluginCatalogue
from pilotage.scheduler_profiles.resource import API_VERSION, KIND

ENVELOPE = ("apiVersion", "kind")


def amounts_to(name: str, spec: Mapping[str, Any], catalogue: PluginCatalogue, source: str) -> dict[str, Any]:
    """Return the plugins that a spec enables, with points, weights and arguments; UnusableProfiles if it cannot run."""
    manifest = {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": name}, "spec": dict(spec)}
    loaded = profiles_configured([WrittenProfile(manifest, Place(source, 1))], catalogue).loaded
    [expansion], [profile] = loaded.expansions, effective(loaded.config)["profiles"]
    args = {each["name"]: each.get("args") or {} for each in profile.get("pluginConfig") or ()}
    plugins: dict[str, dict[str, Any]] = {}
    for point, names in expansion.points.items():
        for place, plugin in enumerate(names):
            found = plugins.setdefault(plugin, {"points": {}})
            found["points"][point.value] = place + 1  # in this order
            weight = expansion.weights.get(point, {}).get(plugin)
            if weight is not None:
                found["weight"] = weight
    for plugin, found in plugins.items():
        own = {key: value for key, value in args.get(plugin, {}).items() if key not in ENVELOPE}
        found["points"] = sorted(found["points"])
        if own:
            found["args"] = own
    general = {key: profile[key] for key in ("schedulerName", "percentageOfNodesToScore") if profile.get(key)}
    rest = {key: value for key, value in spec.items() if key in ("sharing", "nodes", "rollout", "extenders")}
    return {**general, "plugins": plugins, **rest}
