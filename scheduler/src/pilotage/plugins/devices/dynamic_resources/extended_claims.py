"""The special claim of a pod whose extended resources devices serve; the scheduler creates and deletes it."""

from collections.abc import Iterable
from typing import Any

from msgspec import structs, to_builtins

from pilotage.framework.api.objects import Objects
from pilotage.kinds.devices import (
    DELETE_PROTECTION,
    EXTENDED_RESOURCE_CLAIM,
    ClaimMetadata,
    DeviceClaim,
    ResourceClaim,
    ResourceClaimSpec,
)
from pilotage.model.metadata import OwnerReference
from pilotage.model.pod import Pod
from pilotage.plugins.devices.dynamic_resources.extended_requests import RequestMapping, Variant

UNWRITTEN = "<extended-resources>"  # no claim in the API can have this name
MARK = {EXTENDED_RESOURCE_CLAIM: "true"}


def special_claim(pod: Pod) -> ResourceClaim:
    """Return the claim of a pod as it is before it has requests, and is written."""
    metadata = ClaimMetadata(
        name=UNWRITTEN,
        namespace=pod.namespace,
        uid=f"{UNWRITTEN} {pod.uid}",  # a pod has one attempt at a time
        annotations=MARK,
        owner_references=(_owner(pod),),
    )
    return ResourceClaim(metadata)


def is_unwritten(claim: ResourceClaim) -> bool:
    """Return whether a special claim is not in the API yet."""
    return claim.metadata.name == UNWRITTEN


def with_requests(claim: ResourceClaim, variant: Variant) -> ResourceClaim:
    """Return the special claim as nodes of one kind need it."""
    return structs.replace(claim, spec=ResourceClaimSpec(DeviceClaim(variant.requests)))


def creation_body(pod: Pod, variant: Variant) -> dict[str, Any]:
    """Return the special claim to create."""
    requests = [
        {
            "name": request.name,
            "exactly": {
                "deviceClassName": request.exactly.device_class_name,
                "allocationMode": request.exactly.allocation_mode,
                "count": request.exactly.count,
            },
        }
        for request in variant.requests
        if request.exactly is not None
    ]
    return {
        "apiVersion": ResourceClaim.api.api_version,
        "kind": ResourceClaim.api.name,
        "metadata": {
            "generateName": f"{pod.name}-extended-resources-",
            "namespace": pod.namespace,
            "annotations": MARK,
            "ownerReferences": [to_builtins(_owner(pod))],
        },
        "spec": {"devices": {"requests": requests}},
    }


def status_body(claim_name: str, mappings: Iterable[RequestMapping]) -> dict[str, Any]:
    """Return the patch that tells a pod, and its kubelet, which request has the devices of each container."""
    told = [
        {"containerName": each.container, "resourceName": each.resource, "requestName": each.request}
        for each in mappings
    ]
    return {"status": {"extendedResourceClaimStatus": {"resourceClaimName": claim_name, "requestMappings": told}}}


def without_protection(claim: ResourceClaim) -> tuple[str, ...]:
    """Return the finalizers that a claim keeps when it is to be deleted."""
    return tuple(each for each in claim.metadata.finalizers if each != DELETE_PROTECTION)


class SpecialClaims:
    """Finds what an earlier attempt left of a pod's special claim, among all claims of the cluster."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._places: dict[str, set[tuple[str, str]]] = {}  # namespaces and names by the owner's uid
        for claim in objects.all(ResourceClaim):
            self.noticed(claim)

    def noticed(self, claim: ResourceClaim) -> None:
        """Take in a claim that was added, changed or deleted."""
        metadata = claim.metadata
        if not _is_marked(claim) or metadata.controller is None:
            return
        uid, place = metadata.controller.uid, (metadata.namespace, metadata.name)
        if self._objects.get(ResourceClaim, metadata.name, metadata.namespace) is not None:
            self._places.setdefault(uid, set()).add(place)
        elif place in self._places.get(uid, ()):
            self._places[uid].remove(place)
            if not self._places[uid]:
                del self._places[uid]

    def of(self, pod: Pod) -> ResourceClaim | None:
        """Return the first special claim of a pod that is in the API, or None."""
        for namespace, name in sorted(self._places.get(pod.uid, ())):
            claim = self._objects.get(ResourceClaim, name, namespace)
            owner = None if claim is None or not _is_marked(claim) else claim.metadata.controller
            if owner is not None and (owner.uid, owner.name) == (pod.uid, pod.name):
                return claim
        return None


def _owner(pod: Pod) -> OwnerReference:
    return OwnerReference(api_version="v1", kind="Pod", name=pod.name, uid=pod.uid, controller=True)


def _is_marked(claim: ResourceClaim) -> bool:
    return claim.metadata.annotations.get(EXTENDED_RESOURCE_CLAIM) == "true"
