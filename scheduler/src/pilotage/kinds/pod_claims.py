"""The claims of a pod's volumes: those that it names, and ephemeral ones created for it."""

from collections.abc import Iterator
from typing import NamedTuple

from pilotage.kinds.storage import PersistentVolumeClaim
from pilotage.model.pod import Pod, PodShape


class PodClaim(NamedTuple):
    """A claim that a pod uses; an ephemeral one is created and deleted with the pod."""

    name: str
    ephemeral: bool


def named_claims(pod: Pod) -> tuple[str, ...]:
    """Return the claims that a pod names, in order, without ephemeral ones."""
    return pod.shape.remember("named claims", _named)


def _named(shape: PodShape) -> tuple[str, ...]:
    sources = (volume.persistent_volume_claim for volume in shape.spec.volumes)
    return tuple(source.claim_name for source in sources if source is not None)


def uses_claims(pod: Pod) -> bool:
    """Return whether a pod has any claim."""
    return pod.shape.remember("uses claims", _uses)


def _uses(shape: PodShape) -> bool:
    volumes = shape.spec.volumes
    return any(volume.persistent_volume_claim is not None or volume.ephemeral is not None for volume in volumes)


def claims_of(pod: Pod) -> Iterator[PodClaim]:
    """Yield all claims of a pod, in the order of its volumes."""
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            yield PodClaim(volume.persistent_volume_claim.claim_name, ephemeral=False)
        elif volume.ephemeral is not None:
            yield PodClaim(f"{pod.name}-{volume.name}", ephemeral=True)


def concerns(claim: PersistentVolumeClaim, pod: Pod) -> bool:
    """Return whether a claim belongs to the pod, by its name."""
    metadata = claim.metadata
    return metadata.namespace == pod.namespace and any(each.name == metadata.name for each in claims_of(pod))


def foreign(claim: PersistentVolumeClaim, pod: Pod) -> str | None:
    """Return the error about an ephemeral claim that was not created for this pod, or None."""
    owner = claim.metadata.controller
    if claim.metadata.namespace == pod.namespace and owner is not None and owner.uid == pod.uid:
        return None
    name = f"{claim.metadata.namespace}/{claim.metadata.name}"
    return f"PVC {name} was not created for pod {pod.namespace}/{pod.name} (pod is not owner)"


def no_claim(name: str) -> str:
    """Return the error about a claim that does not exist."""
    return f'persistentvolumeclaim "{name}" not found'
