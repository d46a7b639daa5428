"""Matches volumes with claims, regardless of nodes, and computes their state after binding."""

from collections.abc import Iterable

from msgspec.structs import replace

from pilotage.kinds.storage import (
    BOUND_BY_CONTROLLER,
    SELECTED_NODE,
    ObjectReference,
    PersistentVolume,
    PersistentVolumeClaim,
)
from pilotage.model.quantity import parse
from pilotage.model.selectors import LabelMatcher, compile_label_selector

AVAILABLE = "Available"
FILESYSTEM = "Filesystem"


def size_of(written: str | int | float) -> int:
    """Return an amount of storage for exact comparison, in billionths of a byte."""
    return parse(written).nanos


def belongs_to(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Return whether a volume is bound to a claim, or reserved for it."""
    reference, metadata = volume.spec.claim_ref, claim.metadata
    if reference is None or (reference.name, reference.namespace) != (metadata.name, metadata.namespace):
        return False
    return not reference.uid or reference.uid == metadata.uid


def candidates(claim: PersistentVolumeClaim, volumes: Iterable[PersistentVolume]) -> list[PersistentVolume]:
    """Return the volumes that match a claim, the best first: the one reserved for it, or else by size.

    Raises InvalidSelector for a claim with an invalid selector.
    """
    selector = None if claim.spec.selector is None else compile_label_selector(claim.spec.selector)
    wanted, modes = size_of(claim.requested), frozenset(claim.spec.access_modes)
    free: list[tuple[int, PersistentVolume]] = []
    for volume in volumes:
        kept = volume.spec.claim_ref is not None
        if kept and not belongs_to(volume, claim):
            continue
        size = size_of(volume.capacity)
        if size < wanted or not _alike(volume, claim):
            continue
        if kept:
            return [volume]
        if _is_free_for(volume, claim, selector) and modes.issubset(volume.spec.access_modes):
            free.append((size, volume))
    free.sort(key=lambda found: found[0])
    return [volume for _, volume in free]


def _alike(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    return (
        (volume.spec.volume_mode or FILESYSTEM) == (claim.spec.volume_mode or FILESYSTEM)
        and (volume.spec.volume_attributes_class_name or "") == (claim.spec.volume_attributes_class_name or "")
        and volume.metadata.deletion_timestamp is None
    )


def _is_free_for(volume: PersistentVolume, claim: PersistentVolumeClaim, selector: LabelMatcher | None) -> bool:
    return (
        volume.status.phase == AVAILABLE
        and (selector is None or selector.matches(volume.metadata.labels))
        and volume.class_name == claim.class_name
    )


def taken(volume: PersistentVolume, claim: PersistentVolumeClaim) -> PersistentVolume:
    """Return a volume as it will be after binding to a claim."""
    metadata = claim.metadata
    reference = ObjectReference(
        "v1",
        "PersistentVolumeClaim",
        metadata.namespace,
        metadata.name,
        metadata.uid,
        metadata.resource_version,
    )
    now = volume.spec.claim_ref
    same = now is not None and (now.namespace, now.name, now.uid) == (metadata.namespace, metadata.name, metadata.uid)
    annotations = dict(volume.metadata.annotations)
    if not belongs_to(volume, claim):
        annotations.setdefault(BOUND_BY_CONTROLLER, "yes")
    return replace(
        volume,
        metadata=replace(volume.metadata, annotations=annotations),
        spec=volume.spec if same else replace(volume.spec, claim_ref=reference),
    )


def made_on(claim: PersistentVolumeClaim, node: str) -> PersistentVolumeClaim:
    """Return a claim as it will be during provisioning on a node."""
    annotations = {**claim.metadata.annotations, SELECTED_NODE: node}
    return replace(claim, metadata=replace(claim.metadata, annotations=annotations))
