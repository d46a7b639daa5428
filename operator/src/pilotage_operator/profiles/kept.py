"""The profiles in the chart's values: creates, updates, and deletes them when removed from the values."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from pilotage.scheduler_profiles.hashes import spec_hash
from pilotage.scheduler_profiles.resource import API_VERSION, KIND
from pilotage_operator.profiles.actions import (
    Action,
    CreateProfile,
    DeleteProfile,
    PatchProfile,
    WriteEvent,
    difference,
)
from pilotage_operator.profiles.world import KeptProfile, OwnerReference, StoredProfile, World
from pilotage_operator.settings import FIELD_MANAGER, Settings

_LONGEST_NAME = 253
MANAGED_BY, RELEASE, VALUES_HASH = "app.kubernetes.io/managed-by", "pilotage.dev/release", "pilotage.dev/values-hash"


def keep(world: World, settings: Settings) -> Iterator[Action]:
    """Return the actions that align the profiles with the values."""
    if world.kept is None:
        return
    existing = {profile.name: profile for profile in world.profiles}
    names: set[str] = set()
    for wanted in world.kept:
        taken = existing.get(wanted.name)
        names.add(wanted.name)
        if taken is not None and not is_ours(taken, settings):
            yield _foreign(taken, settings)
            names.add(second := second_name(wanted.name, settings))
            wanted = replace(wanted, name=second, spec={"schedulerName": wanted.name, **wanted.spec})
        elif taken is None:
            names.add(second_name(wanted.name, settings))  # it stays until the first one exists
        yield from _kept(wanted, existing.get(wanted.name), world, settings)
    for profile in world.profiles:
        if is_ours(profile, settings) and profile.name not in names and not profile.metadata.deletion_timestamp:
            yield DeleteProfile(profile.name, profile.metadata.uid)


def _kept(wanted: KeptProfile, found: StoredProfile | None, world: World, settings: Settings) -> Iterator[Action]:
    if found is None:
        # Without the owner, the release is being uninstalled.
        if world.owner is not None or not settings.owner:
            yield CreateProfile(_manifest(wanted, world.owner, settings))
    elif is_ours(found, settings) and (patch := _patch(found, wanted, world.owner, settings)):
        yield PatchProfile(wanted.name, {**patch, "metadata": _at(found) | patch.get("metadata", {})})


def second_name(name: str, settings: Settings) -> str:
    """Return the alternative name of a profile whose own name is taken, so that its status can say so."""
    return f"{name}.{settings.release_label}"[:_LONGEST_NAME].rstrip("-.")


def is_ours(profile: StoredProfile, settings: Settings) -> bool:
    """Return whether this release created a profile from its values."""
    labels = profile.metadata.labels
    return labels.get(MANAGED_BY) == FIELD_MANAGER and labels.get(RELEASE) == settings.release_label


def _at(found: StoredProfile) -> dict[str, Any]:
    return {"resourceVersion": found.metadata.resource_version}


def _manifest(wanted: KeptProfile, owner: OwnerReference | None, settings: Settings) -> dict[str, Any]:
    metadata: dict[str, Any] = {
        "name": wanted.name,
        "labels": {MANAGED_BY: FIELD_MANAGER, RELEASE: settings.release_label},
        "annotations": {VALUES_HASH: spec_hash(wanted.spec)},
    }
    if owner is not None:
        metadata["ownerReferences"] = [_reference(owner)]
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, "spec": _spec(wanted, settings)}


def _spec(wanted: KeptProfile, settings: Settings) -> dict[str, Any]:
    # Otherwise another release could claim it first.
    return {"instance": settings.instance} | dict(wanted.spec)


def _patch(
    found: StoredProfile, wanted: KeptProfile, owner: OwnerReference | None, settings: Settings
) -> dict[str, Any]:
    """Return the changes in the values; changes by users since then stay."""
    patch: dict[str, Any] = {}
    metadata: dict[str, Any] = {}
    values_hash = spec_hash(wanted.spec)
    if found.metadata.annotations.get(VALUES_HASH) != values_hash:
        metadata["annotations"] = {VALUES_HASH: values_hash}
        patch["spec"] = difference(found.spec, _spec(wanted, settings))
    if owner is not None and owner.uid not in [each.uid for each in found.metadata.owner_references]:
        metadata["ownerReferences"] = [_reference(owner)]
    return patch | ({"metadata": metadata} if metadata else {})


def _reference(owner: OwnerReference) -> dict[str, str]:
    return {"apiVersion": owner.api_version, "kind": owner.kind, "name": owner.name, "uid": owner.uid}


def _foreign(found: StoredProfile, settings: Settings) -> WriteEvent:
    note = (
        f"the values of the release {settings.instance} contain a profile of this name, but did not create it: it "
        f"is left unchanged, and theirs is {second_name(found.name, settings)}; rename one of the two"
    )
    once = f"{found.metadata.uid} {settings.instance}"
    return WriteEvent(found.name, found.metadata.uid, "Warning", "NotOfTheValues", note, once)
