"""The ConfigMap that the scheduler follows: what it should be, and what has to change to make it so."""

from collections.abc import Mapping
from typing import Any

from pilotage.scheduler_profiles.hashes import text_hash
from pilotage_operator.profiles.actions import CreateConfigMap, PatchConfigMap, difference
from pilotage_operator.profiles.world import (
    CONFIGURATION,
    HASH,
    SERVED,
    SERVED_HASH,
    STRATEGY,
    WRITTEN_AT,
    ConfigMap,
    Deployment,
)
from pilotage_operator.settings import FIELD_MANAGER, Settings


def is_intact(config_map: ConfigMap | None) -> bool:
    """Tell whether the texts are still those whose hashes are written beside them."""
    if config_map is None:
        return False
    said, data = config_map.metadata.annotations, config_map.data
    return all(
        text_hash(data.get(key, "")) == said.get(name) for key, name in ((CONFIGURATION, HASH), (SERVED, SERVED_HASH))
    )


def change(
    settings: Settings,
    found: ConfigMap | None,
    deployment: Deployment | None,
    data: Mapping[str, str],
    annotations: Mapping[str, str],
) -> CreateConfigMap | PatchConfigMap | None:
    """Return what makes the ConfigMap hold the data, and nothing else; None if it does."""
    metadata = _metadata(settings, deployment, annotations)
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
    """Return what is missing; labels and annotations of others are theirs."""
    drift: dict[str, Any] = {}
    for kind, has in (("labels", found.metadata.labels), ("annotations", found.metadata.annotations)):
        if changed := {key: value for key, value in metadata[kind].items() if has.get(key) != value}:
            drift[kind] = changed
    owners = metadata.get("ownerReferences", [])
    if owners and owners[0]["uid"] not in [owner.uid for owner in found.metadata.owner_references]:
        drift["ownerReferences"] = owners
    return drift


def _metadata(settings: Settings, deployment: Deployment | None, annotations: Mapping[str, str]) -> dict[str, Any]:
    metadata: dict[str, Any] = {
        "labels": {
            "app.kubernetes.io/name": "pilotage",
            "app.kubernetes.io/instance": settings.release,
            "app.kubernetes.io/managed-by": FIELD_MANAGER,
        },
        "annotations": dict(annotations),
    }
    if deployment is not None:
        owner = {"apiVersion": "apps/v1", "kind": "Deployment"}
        metadata["ownerReferences"] = [owner | {"name": deployment.metadata.name, "uid": deployment.metadata.uid}]
    return metadata


def content(text: str, served: str, strategy: str, written_at: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return the data and the annotations for a configuration."""
    hashes = {HASH: text_hash(text), SERVED_HASH: text_hash(served)}
    annotations = hashes | {STRATEGY: strategy, WRITTEN_AT: written_at}
    return {CONFIGURATION: text, SERVED: served}, annotations
