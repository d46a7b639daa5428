"""Sorts the claims of a new pod: bound ones, those that wait for the pod, and unusable ones."""

from dataclasses import dataclass, field

from pilotage.framework.api.objects import Objects
from pilotage.framework.api.verdicts import PluginFailed, Rejection
from pilotage.kinds.pod_claims import PodClaim, claims_of, foreign, no_claim
from pilotage.kinds.storage import WAIT_FOR_FIRST_CONSUMER, PersistentVolumeClaim, StorageClass
from pilotage.model.pod import Pod

UNBOUND = Rejection("pod has unbound immediate PersistentVolumeClaims", preemption_helps=False)


@dataclass
class SortedClaims:
    """Bound claims, and those that are bound after the node is chosen."""

    bound: list[PersistentVolumeClaim] = field(default_factory=list)
    delayed: list[PersistentVolumeClaim] = field(default_factory=list)


def sort_claims(pod: Pod, objects: Objects) -> SortedClaims | Rejection:
    """Return the claims of a pod, or why it must wait on any node."""
    claims: list[PersistentVolumeClaim] = []
    for each in claims_of(pod):
        claim = objects.get(PersistentVolumeClaim, each.name, pod.namespace)
        complaint = _complaint(pod, each, claim)
        if claim is None or complaint:
            return Rejection(complaint, preemption_helps=False)
        claims.append(claim)
    found, waiting = SortedClaims(), False
    for claim in claims:
        if claim.is_bound:
            found.bound.append(claim)
        elif _is_delayed(claim, objects) and not claim.spec.volume_name:
            found.delayed.append(claim)
        else:
            waiting = True  # the claim waits for its volume, and so does the pod
    return UNBOUND if waiting else found


def _complaint(pod: Pod, each: PodClaim, claim: PersistentVolumeClaim | None) -> str:
    """Return why a pod cannot use a claim, or ""."""
    if claim is None:
        if each.ephemeral:
            return f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{each.name}"'
        return no_claim(each.name)
    if claim.status.phase == "Lost":
        return f'persistentvolumeclaim "{each.name}" bound to non-existent persistentvolume "{claim.spec.volume_name}"'
    if claim.metadata.deletion_timestamp is not None:
        return f'persistentvolumeclaim "{each.name}" is being deleted'
    return (foreign(claim, pod) or "") if each.ephemeral else ""


def _is_delayed(claim: PersistentVolumeClaim, objects: Objects) -> bool:
    class_name = claim.class_name
    storage = objects.get(StorageClass, class_name) if class_name else None
    if storage is None:
        return False
    if storage.volume_binding_mode is None:
        raise PluginFailed(f'VolumeBindingMode not set for StorageClass "{class_name}"')
    return storage.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER
