"""Log lines about actions."""

from collections.abc import Mapping
from typing import Any

from pilotage.config.handshake import CONFIGURATION, HASH, PLUGIN_FILES
from pilotage_operator.profiles.actions import (
    Action,
    CreateConfigMap,
    CreateProfile,
    DeleteProfile,
    PatchConfigMap,
    PatchProfile,
    PatchStatus,
    StampDeployment,
)


def sentence(action: Action) -> str:
    """Return a description of an action; empty if it is not logged."""
    match action:
        case CreateProfile(manifest):
            return f"profile {manifest['metadata']['name']}: created, because it is in the values of the release"
        case PatchProfile(name, patch):
            return f"profile {name}: {_of_the_values(patch)}"
        case DeleteProfile(name):
            return f"profile {name}: deleted, because it is no longer in the values of the release"
        case PatchStatus(name, patch):
            return f"profile {name}: {_status(patch.get('status', {}))}"
        case CreateConfigMap(manifest):
            return f"ConfigMap {manifest['metadata']['name']}: created with {_configuration(manifest)}"
        case PatchConfigMap(patch):
            return f"the scheduler's ConfigMap gets {_configuration(patch)}"
        case StampDeployment(stamp):
            return f"the scheduler's Deployment replaces its pods for configuration {stamp}"
        case _:
            return ""


def _of_the_values(patch: Mapping[str, Any]) -> str:
    if "spec" in patch:
        return f"updated from the values of the release: {', '.join(patch['spec']) or 'no fields'}"
    return "adopted by this release"


def _configuration(change: Mapping[str, Any]) -> str:
    if found := (change.get("metadata") or {}).get("annotations", {}).get(HASH):
        return f"configuration {found}"
    if {CONFIGURATION, PLUGIN_FILES} & set(change.get("data") or {}):
        return "its configuration back, which another writer had changed"
    return "its missing labels, annotations and records"


def _status(status: Mapping[str, Any]) -> str:
    """Return the Ready condition if it changed, otherwise other changes."""
    for condition in status.get("conditions") or ():
        if condition["type"] == "Ready":
            generation = condition["observedGeneration"]
            return (
                f"generation {generation}: Ready={condition['status']}, {condition['reason']}: {condition['message']}"
            )
    if "instance" in status and status["instance"] is None:
        return "it names another release, and this one no longer serves it"
    if good := status.get("lastGood"):
        which = f"generation {good['generation']}" if "generation" in good else "what runs"
        return f"{which} is the last good spec now, and runs again if a later one fails"
    if "replicas" in status:
        return f"{status['replicas']} replicas run it"
    return f"its status is updated: {', '.join(status) or 'nothing'}"
