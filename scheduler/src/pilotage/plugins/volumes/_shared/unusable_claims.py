"""What helps a pod with a claim that no pod can use yet, on whatever node: missing, lost, leaving, or unbound."""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from pilotage.config.suggestions import near_of_many
from pilotage.framework.api.objects import Objects
from pilotage.framework.api.pod_changes import with_spec as with_pod_spec
from pilotage.framework.api.remedies import Actor, Change, Remedy, Value
from pilotage.kinds.pod_claims import PodClaim, claims_of
from pilotage.kinds.storage import (
    BETA_STORAGE_CLASS,
    NO_PROVISIONER,
    WAIT_FOR_FIRST_CONSUMER,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from pilotage.model.pod import Pod
from pilotage.model.volumes import ClaimSource
from pilotage.plugins.volumes._shared.claim_changes import claim_remedy, key_of, with_spec

NO_CLAIM_YET = "the claim does not exist yet"
NO_VOLUME_YET = "the volume does not exist yet"


def unusable_claims(pod: Pod, objects: Objects) -> Iterator[Remedy]:
    """Yield what has to happen before the first claim that is in the way can be used."""
    for each in claims_of(pod):
        claim = objects.get(PersistentVolumeClaim, each.name, pod.namespace)
        found = list(_missing(pod, each, objects) if claim is None else _unusable(claim, objects))
        if found:
            yield from found
            return


def volume_to_create(claim: PersistentVolumeClaim) -> Remedy:
    """Return the volume that an administrator can create for a claim."""
    modes = ", ".join(claim.spec.access_modes)
    in_class = " in the storage class {class}" if claim.class_name else " without a storage class"
    return _untried(
        "createVolume",
        "admin",
        f"create a PersistentVolume of at least {{size}} with access mode {{modes}}{in_class} for the claim {{claim}}",
        NO_VOLUME_YET,
        {"claim": key_of(claim), "size": str(claim.requested), "modes": modes, "class": claim.class_name},
    )


def volume_to_restore(claim: PersistentVolumeClaim) -> Remedy:
    """Return what helps a claim whose volume is gone."""
    return _untried(
        "restoreVolume",
        "admin",
        "restore the PersistentVolume {volume}, or create the claim {claim} again: it is bound to that volume",
        "the volume does not exist",
        {"claim": key_of(claim), "volume": claim.spec.volume_name},
    )


def _missing(pod: Pod, each: PodClaim, objects: Objects) -> Iterator[Remedy]:
    name = f"{pod.namespace}/{each.name}"
    if each.ephemeral:
        text, why = "wait until the ephemeral volume controller has created the claim {claim}", NO_CLAIM_YET
        yield _untried("waitForClaim", "wait", text, why, {"claim": name})
        return
    there = {claim.metadata.name for claim in objects.all(PersistentVolumeClaim, pod.namespace)}
    if other := near_of_many(each.name, there):
        yield _other_claim(pod, each.name, other)
    why = "what it would ask for is not known"
    yield _untried("createClaim", "owner", "create the PersistentVolumeClaim {claim}", why, {"claim": name})


def _other_claim(pod: Pod, name: str, other: str) -> Remedy:
    volumes, patched, changes = [], [], []
    for place, volume in enumerate(pod.spec.volumes):
        source = volume.persistent_volume_claim
        if source is not None and source.claim_name == name:
            changed = ClaimSource(other, source.read_only)
            volume = msgspec.structs.replace(volume, persistent_volume_claim=changed)
            patched.append({"name": volume.name, "persistentVolumeClaim": {"claimName": other}})
            changes.append(Change(f"spec.volumes[{place}].persistentVolumeClaim.claimName", name, other))
        volumes.append(volume)
    change = with_pod_spec(pod, {"volumes": patched}, volumes=tuple(volumes))
    return Remedy(
        code="otherClaim",
        actor="owner",
        words="use the claim {to} instead of {from}",
        values={"from": name, "to": other},
        changes=tuple(changes),
        size=0.5,
        target=change.target,
        patch=change.patch,
        difference=change.difference,
    )


def _unusable(claim: PersistentVolumeClaim, objects: Objects) -> Iterator[Remedy]:
    key = {"claim": key_of(claim)}
    if claim.status.phase == "Lost":
        yield volume_to_restore(claim)
    elif claim.metadata.deletion_timestamp is not None:
        text = "wait until the claim {claim} is deleted, and create it again"
        yield _untried("recreateClaim", "owner", text, "the claim is being deleted", key)
    elif not claim.is_bound:
        yield from _unbound(claim, objects)
    elif objects.get(PersistentVolume, claim.spec.volume_name) is None:
        yield volume_to_restore(claim)


def _unbound(claim: PersistentVolumeClaim, objects: Objects) -> Iterator[Remedy]:
    class_name, volume = claim.class_name, claim.spec.volume_name
    storage = objects.get(StorageClass, class_name) if class_name else None
    values = {"claim": key_of(claim), "class": class_name, "volume": volume}
    if volume and objects.get(PersistentVolume, volume) is not None:
        text = "wait until the claim {claim} is bound to its volume {volume}; its events say what is missing"
        yield _untried("waitForClaim", "wait", text, "the claim is not bound yet", values)
    elif volume:
        text = "create the PersistentVolume {volume}, which the claim {claim} names"
        yield _untried("createVolume", "admin", text, NO_VOLUME_YET, values)
    elif class_name and storage is None:
        yield from _other_class(claim, objects.all(StorageClass))
        text = "create the StorageClass {class}, which the claim {claim} names"
        yield _untried("createClass", "admin", text, "the class does not exist yet", values)
    elif storage is not None and storage.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER:
        return  # it waits for the pod, and is not in the way
    elif storage is None or storage.provisioner in ("", NO_PROVISIONER):
        yield volume_to_create(claim)
    else:
        text = "wait until {provisioner} has provisioned a volume for the claim {claim}; its events say what is missing"
        yield _untried("waitForClaim", "wait", text, NO_VOLUME_YET, {**values, "provisioner": storage.provisioner})


def _other_class(claim: PersistentVolumeClaim, classes: Iterable[StorageClass]) -> Iterator[Remedy]:
    name = claim.class_name
    other = near_of_many(name, {each.metadata.name for each in classes})
    if not other or BETA_STORAGE_CLASS in claim.metadata.annotations:
        return
    changed = with_spec(claim, storage_class_name=other)
    patch, change = {"spec": {"storageClassName": other}}, Change("spec.storageClassName", name, other)
    words = "name the storage class {to} instead of {from} in the claim {claim}"
    yield claim_remedy("otherClass", words, claim, changed, patch, change, {"from": name, "to": other}, 0.5)


def _untried(code: str, actor: Actor, words: str, why: str, values: Mapping[str, Value]) -> Remedy:
    return Remedy(code=code, actor=actor, words=words, values=values, untried=why)
