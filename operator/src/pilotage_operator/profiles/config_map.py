"""The ConfigMap that the scheduler follows: its desired content, and the patch for it."""

from collections.abc import Mapping
from typing import Any

from pilotage.config.handshake import (
    HASH,
    PLUGINS_LABEL,
    SERVED,
    SERVED_HASH,
    STRATEGY,
    UNITS,
    WRITTEN_AT,
    FilesByProfile,
    InvalidUnit,
    text_hash,
    unit_data,
    unit_hash,
    unit_in,
)
from pilotage_operator.profiles.actions import CreateConfigMap, PatchConfigMap, difference
from pilotage_operator.profiles.units import Units, unit_texts, units_text
from pilotage_operator.profiles.world import ConfigMap, Deployment
from pilotage_operator.settings import FIELD_MANAGER, Settings


def is_intact(config_map: ConfigMap | None) -> bool:
    """Return whether the texts still match their hashes."""
    if config_map is None:
        return False
    said, data = config_map.metadata.annotations, config_map.data
    if (unit_hash(data), _served_hash(data)) != (said.get(HASH), said.get(SERVED_HASH)):
        return False
    try:
        unit_in(data)  # checks the texts of plugin files, whose names contain their hashes
    except InvalidUnit:
        return False
    return True


def _served_hash(data: Mapping[str, str]) -> str:
    return text_hash(data.get(SERVED, "") + data.get(UNITS, ""))


def change(
    settings: Settings,
    found: ConfigMap | None,
    deployment: Deployment | None,
    data: Mapping[str, str],
    said: Mapping[str, str],
) -> CreateConfigMap | PatchConfigMap | None:
    """Return the patch that sets the data of the ConfigMap; None if it is correct."""
    metadata = _metadata(settings, deployment, said)
    if found is None:
        named = {"name": settings.config_map, "namespace": settings.namespace} | metadata
        return CreateConfigMap({"apiVersion": "v1", "kind": "ConfigMap", "metadata": named, "data": dict(data)})
    patch: dict[str, Any] = {}
    if changed := difference(found.data, data):
        patch["data"] = changed
    if meta := _drift(found, metadata):
        patch["metadata"] = meta
    return PatchConfigMap(patch) if patch else None


def _drift(found: ConfigMap, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the missing labels and annotations; those of others are ignored."""
    drift: dict[str, Any] = {}
    for kind, has in (("labels", found.metadata.labels), ("annotations", found.metadata.annotations)):
        if changed := {key: value for key, value in metadata[kind].items() if has.get(key) != value}:
            drift[kind] = changed
    owners = metadata.get("ownerReferences", [])
    if owners and owners[0]["uid"] not in [owner.uid for owner in found.metadata.owner_references]:
        drift["ownerReferences"] = owners
    return drift


def _metadata(settings: Settings, deployment: Deployment | None, said: Mapping[str, str]) -> dict[str, Any]:
    metadata: dict[str, Any] = {
        "labels": {
            "app.kubernetes.io/name": "pilotage",
            "app.kubernetes.io/instance": settings.release,
            "app.kubernetes.io/managed-by": FIELD_MANAGER,
            # For the watch, which also selects ConfigMaps with plugin files.
            PLUGINS_LABEL: settings.config_label,
        },
        "annotations": dict(said),
    }
    if deployment is not None:
        owner = {"apiVersion": "apps/v1", "kind": "Deployment"}
        metadata["ownerReferences"] = [owner | {"name": deployment.metadata.name, "uid": deployment.metadata.uid}]
    return metadata


def content(text: str, files: FilesByProfile, served: str, units: Units) -> dict[str, str]:
    """Return the data for a configuration, the plugin files of its profiles, and their records."""
    about = units_text(units)
    return unit_texts(units) | unit_data(text, files) | {SERVED: served} | ({UNITS: about} if about else {})


def annotations(data: Mapping[str, str], strategy: str, written_at: str) -> dict[str, str]:
    """Return the annotations."""
    hashes = {HASH: unit_hash(data), SERVED_HASH: _served_hash(data)}
    return hashes | {STRATEGY: strategy, WRITTEN_AT: written_at}
