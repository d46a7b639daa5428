"""Disks that pods name without a claim, and when two pods cannot have the same one on a node."""

from collections.abc import Iterable

from pilotage.model.pod import Pod, PodShape
from pilotage.model.volumes import RBDImage, Volume


def exclusive_disks(pod: Pod) -> tuple[Volume, ...]:
    """Return the volumes of a pod that others on the node may be in the way of."""
    return pod.shape.remember("exclusive disks", _exclusive)


def _exclusive(shape: PodShape) -> tuple[Volume, ...]:
    return tuple(volume for volume in shape.spec.volumes if _is_exclusive(volume))


def _is_exclusive(volume: Volume) -> bool:
    sources = (volume.gce_persistent_disk, volume.aws_elastic_block_store, volume.iscsi, volume.rbd)
    return any(source is not None for source in sources)


def clash(disks: Iterable[Volume], pod: Pod) -> bool:
    """Tell whether a pod has one of the disks in a way that excludes others."""
    present = exclusive_disks(pod)
    return bool(present) and any(_excludes(one, other) for one in disks for other in present)


def _excludes(one: Volume, other: Volume) -> bool:
    # Pods that only read may share a disk, but not one of Amazon.
    gce, other_gce = one.gce_persistent_disk, other.gce_persistent_disk
    if gce and other_gce and gce.pd_name == other_gce.pd_name and not (gce.read_only and other_gce.read_only):
        return True
    aws, other_aws = one.aws_elastic_block_store, other.aws_elastic_block_store
    if aws and other_aws and aws.volume_id == other_aws.volume_id:
        return True
    iscsi, other_iscsi = one.iscsi, other.iscsi
    if iscsi and other_iscsi and iscsi.iqn == other_iscsi.iqn and not (iscsi.read_only and other_iscsi.read_only):
        return True
    rbd, other_rbd = one.rbd, other.rbd
    return bool(rbd and other_rbd and _same_image(rbd, other_rbd) and not (rbd.read_only and other_rbd.read_only))


def _same_image(one: RBDImage, other: RBDImage) -> bool:
    same = one.pool == other.pool and one.image == other.image
    return same and not set(one.monitors).isdisjoint(other.monitors)
