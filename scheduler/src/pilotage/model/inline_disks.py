"""Inline disks of pods, and conflicts between pods that use the same one on a node."""

from collections.abc import Iterator

from pilotage.model.pod import Pod, PodShape
from pilotage.model.volumes import Volume

Disk = tuple[str, ...]


def exclusive_disks(pod: Pod) -> tuple[Volume, ...]:
    """Return the volumes of a pod that may conflict with those of other pods on the node."""
    return pod.shape.remember("exclusive disks", _exclusive)


def _exclusive(shape: PodShape) -> tuple[Volume, ...]:
    return tuple(volume for volume in shape.spec.volumes if _is_exclusive(volume))


def _is_exclusive(volume: Volume) -> bool:
    sources = (volume.gce_persistent_disk, volume.aws_elastic_block_store, volume.iscsi, volume.rbd)
    return any(source is not None for source in sources)


def clash(pod: Pod, other: Pod) -> bool:
    """Return whether two pods use the same disk in conflicting ways."""
    one, present = (each.shape.remember("uses of disks", _uses) for each in (pod, other))
    if not one or not present:
        return False
    few, many = sorted((one, present), key=len)
    return any(disk in many and (writes or many[disk]) for disk, writes in few.items())


def _uses(shape: PodShape) -> dict[Disk, bool]:
    """Return the disks of a shape, and which of them are exclusive: read-only ones can be shared."""
    found: dict[Disk, bool] = {}
    for volume in shape.spec.volumes:
        for disk, is_shared in _disks(volume):
            found[disk] = found.get(disk, False) or not is_shared
    return found


def _disks(volume: Volume) -> Iterator[tuple[Disk, bool]]:
    if (gce := volume.gce_persistent_disk) is not None:
        yield ("gce", gce.pd_name), gce.read_only
    if (aws := volume.aws_elastic_block_store) is not None:
        yield ("aws", aws.volume_id), False  # these are never shared
    if (iscsi := volume.iscsi) is not None:
        yield ("iscsi", iscsi.iqn), iscsi.read_only
    if (rbd := volume.rbd) is not None:
        for monitor in rbd.monitors:  # the same image by any of them
            yield ("rbd", rbd.pool, rbd.image, monitor), rbd.read_only
