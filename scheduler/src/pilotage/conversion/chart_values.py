"""Converts values of scheduler-plugins' chart (as-a-second-scheduler) to the configuration that the chart renders."""

from collections.abc import Iterator, Mapping
from typing import Any

from pilotage.config.types import API_VERSION, KIND
from pilotage.conversion.notes import Notes

_KEYS = ("scheduler", "controller", "plugins", "pluginConfig")
_NAME = "scheduler-plugins-scheduler"
_ENABLED = ("Coscheduling", "CapacityScheduling", "NodeResourceTopologyMatch", "NodeResourcesAllocatable")
_DISABLED = ("PrioritySort",)
_ARGUMENTS = ({"name": "Coscheduling", "args": {"permitWaitingTimeSeconds": 10}},)
_OTHERS = (
    "values other than scheduler.name, plugins and pluginConfig configure the release: `helm install` with Pilotage's "
    "chart accepts this file unchanged"
)


class NoValues(Exception):
    """Values that are invalid for the chart; the message says where."""


def are_values(value: Mapping[str, Any]) -> bool:
    """Return whether a map looks like values of the chart."""
    return not {"apiVersion", "kind"} & value.keys() and any(key in value for key in _KEYS)


def configuration_of(values: Mapping[str, Any], notes: Notes) -> dict[str, Any]:
    """Return the configuration that the chart renders from values, with the chart's defaults."""
    scheduler, plugins = _map(values, "scheduler"), _map(values, "plugins")
    name = scheduler.get("name", _NAME)
    if not isinstance(name, str):
        raise NoValues("scheduler.name: this must be a string")
    enabled = [{"name": _titled(each)} for each in _names(plugins, "enabled", _ENABLED)]
    disabled = [{"name": each} for each in _names(plugins, "disabled", _DISABLED)]
    if not enabled:
        notes.note("plugins.enabled is empty, so that chart never started; this is the plain default profile")
        disabled = []
    if set(values) - {"plugins", "pluginConfig"} or set(scheduler) - {"name"}:
        notes.note(_OTHERS)
    profile = {
        "schedulerName": name,
        "plugins": {"multiPoint": {"enabled": enabled, "disabled": disabled}},
        "pluginConfig": values.get("pluginConfig", list(_ARGUMENTS)),
    }
    return {"apiVersion": API_VERSION, "kind": KIND, "profiles": [profile]}


def _map(values: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = values.get(key) or {}
    if not isinstance(found, Mapping):
        raise NoValues(f"{key}: this must be a map")
    return found


def _names(plugins: Mapping[str, Any], key: str, default: tuple[str, ...]) -> Iterator[str]:
    given = plugins.get(key, default)
    for place, name in enumerate(given or ()) if isinstance(given, list | tuple | None) else [(0, given)]:
        if not isinstance(name, str):
            text = "this must be the name of a plugin; values of Pilotage's chart need no conversion"
            raise NoValues(f"plugins.{key}[{place}]: {text}")
        yield name


def _titled(name: str) -> str:
    return name[:1].upper() + name[1:]
