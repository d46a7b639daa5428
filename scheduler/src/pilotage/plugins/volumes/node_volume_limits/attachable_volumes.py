"""The volumes that CSI drivers attach to a node for its pods, by unique names."""

import uuid
from collections.abc import Iterable

from pilotage.framework.api.objects import Objects
from pilotage.framework.api.verdicts import PluginFailed
from pilotage.kinds.csi_migration import (
    DRIVERS,
    UNCOUNTED_PLUGINS,
    Untranslatable,
    is_migratable,
    translated,
    translated_inline,
)
from pilotage.kinds.pod_claims import foreign, no_claim
from pilotage.kinds.storage import PersistentVolume, PersistentVolumeClaim, StorageClass, VolumeAttachment
from pilotage.model.pod import Pod, PodShape
from pilotage.model.volumes import CSIDisk, Volume

Attachable = dict[str, str]  # from driver/handle to the driver

ATTACHABLE = "attachable volumes"  # the cache key of a shape

# The volume of an unbound claim gets a name that no real volume has.
_UNBORN = uuid.uuid4().hex


class MissingClaim(Exception):
    """A pod uses a claim that does not exist."""


def may_attach(pod: Pod) -> bool:
    """Return whether any volume of a pod may be attachable."""
    return bool(attachable_sources(pod))


def attachable_sources(pod: Pod) -> tuple[Volume, ...]:
    """Return the volumes of a pod that may be attached: those with claims, and inline ones of in-tree plugins."""
    return pod.shape.remember(ATTACHABLE, sources)


def sources(shape: PodShape) -> tuple[Volume, ...]:
    """Return the same for all pods of a shape."""
    return tuple(
        volume
        for volume in shape.spec.volumes
        if volume.persistent_volume_claim is not None or volume.ephemeral is not None or is_migratable(volume)
    )


def volumes_of(pod: Pod, objects: Objects, *, on_csi_node: bool) -> Attachable:
    """Return the volumes to attach for a new pod, or raise MissingClaim.

    Volumes of in-tree plugins count only on nodes with a CSINode.
    """
    found: Attachable = {}
    for volume in attachable_sources(pod):
        _count(volume, pod, objects, on_csi_node, found)
    return found


def volumes_of_placed(pods: Iterable[Pod], objects: Objects) -> Attachable:
    """Return the attached volumes of the pods on a CSI node; deleted claims do not count."""
    found: Attachable = {}
    for pod in pods:
        for volume in attachable_sources(pod):
            try:
                _count(volume, pod, objects, True, found)
            except MissingClaim:
                continue
    return found


def attachments(objects: Objects, of_node: Iterable[VolumeAttachment]) -> Attachable:
    """Return the volumes attached to a node, whether used by a pod or not."""
    found: Attachable = {}
    for attachment in of_node:
        attacher, volume_name = attachment.spec.attacher, attachment.spec.source.persistent_volume_name
        if attacher and volume_name is not None:
            volume = objects.get(PersistentVolume, volume_name)
            if volume is not None and volume.spec.csi is not None:
                found[f"{attacher}/{volume.spec.csi.volume_handle}"] = attacher
    return found


def _count(volume: Volume, pod: Pod, objects: Objects, on_csi_node: bool, found: Attachable) -> None:
    if volume.persistent_volume_claim is not None or volume.ephemeral is not None:
        disk = _behind_claim(_claim(volume, pod, objects), objects, on_csi_node)
        if disk is not None and not (disk.driver and disk.volume_handle):
            return
    else:
        disk = _inline(volume) if on_csi_node else None
    if disk is not None:
        found[f"{disk.driver}/{disk.volume_handle}"] = disk.driver


def _claim(volume: Volume, pod: Pod, objects: Objects) -> PersistentVolumeClaim:
    source = volume.persistent_volume_claim
    name = f"{pod.name}-{volume.name}" if source is None else source.claim_name
    if not name:
        raise PluginFailed("PersistentVolumeClaim had no name")
    claim = objects.get(PersistentVolumeClaim, name, pod.namespace)
    if claim is None:
        raise MissingClaim(f"looking up PVC {pod.namespace}/{name}: {no_claim(name)}")
    if source is None and (complaint := foreign(claim, pod)):
        raise PluginFailed(complaint)
    return claim


def _behind_claim(claim: PersistentVolumeClaim, objects: Objects, on_csi_node: bool) -> CSIDisk | None:
    name = claim.spec.volume_name
    volume = objects.get(PersistentVolume, name) if name else None
    if volume is None:
        return _to_be_made(claim, objects, on_csi_node)
    if volume.spec.csi is not None:
        return volume.spec.csi
    try:
        return translated(volume) if on_csi_node else None
    except Untranslatable:
        return None


def _to_be_made(claim: PersistentVolumeClaim, objects: Objects, on_csi_node: bool) -> CSIDisk | None:
    class_name = claim.class_name
    storage = objects.get(StorageClass, class_name) if class_name else None
    if storage is None or storage.provisioner in UNCOUNTED_PLUGINS:
        return None
    driver = storage.provisioner
    if driver in DRIVERS:
        if not on_csi_node:
            return None
        driver = DRIVERS[driver]
    return CSIDisk(driver, f"{_UNBORN}-{claim.metadata.namespace}/{claim.metadata.name}")


def _inline(volume: Volume) -> CSIDisk | None:
    try:
        return translated_inline(volume)
    except Untranslatable as error:
        raise PluginFailed(f"converting volume({volume.name}) from inline to csi: {error}") from None
