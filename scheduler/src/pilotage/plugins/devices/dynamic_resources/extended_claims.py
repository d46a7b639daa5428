"""The special claim of a pod whose extended resources devices serve; the scheduler creates and deletes it."""

from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from msgspec import structs, to_builtins

from pilotage.kinds.devices import (
    EXTENDED_RESOURCE_CLAIM,
    ClaimMetadata,
    DeviceClaim,
    ResourceClaim,
    ResourceClaimSpec,
)
from pilotage.model.metadata import OwnerReference
from pilotage.model.pod import Pod
from pilotage.plugins.devices.dynamic_resources.extended_requests import RequestMapping, Variant
from pilotage.plugins.devices.dynamic_resources.pod_claims import FindClaim

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


def creation_body(pod: Pod, special: ResourceClaim) -> dict[str, Any]:
    """Return the special claim to create, with the requests of a node."""
    requests = [
        {
            "name": request.name,
            "exactly": {
                "deviceClassName": request.exactly.device_class_name,
                "allocationMode": request.exactly.allocation_mode,
                "count": request.exactly.count,
            },
        }
        for request in special.spec.devices.requests
        if request.exactly is not None
    ]
    return {
        "apiVersion": ResourceClaim.api.api_version,
        "kind": ResourceClaim.api.name,
        "metadata": {
            "generateName": f"{pod.name}-extended-resources-",
            "namespace": pod.namespace,
            "annotations": MARK,
            "ownerReferences": to_builtins([_owner(pod)]),
        },
        "spec": {"devices": {"requests": requests}},
    }


def status_path(pod: Pod) -> str:
    """Return the path of a pod's status."""
    return f"/api/v1/namespaces/{quote(pod.namespace, safe='')}/pods/{quote(pod.name, safe='')}/status"


def status_body(pod: Pod, claim_name: str, mappings: Iterable[RequestMapping]) -> dict[str, Any]:
    """Return the patch that tells a pod, and its kubelet, which request has the devices of each container."""
    told = [
        {"containerName": each.container, "resourceName": each.resource, "requestName": each.request}
        for each in mappings
    ]
    status = {"resourceClaimName": claim_name, "requestMappings": told}
    return {"metadata": {"uid": pod.uid}, "status": {"extendedResourceClaimStatus": status}}


class SpecialClaims:
    """Finds what an earlier attempt left of a pod's special claim, among all claims of the cluster."""

    def __init__(self) -> None:
        self._keys: dict[str, set[tuple[str, str]]] = {}  # namespaces and names by the owner's uid

    def see(self, old: ResourceClaim | None, new: ResourceClaim | None) -> None:
        """Follow a claim that was added, changed or deleted."""
        before, now = _owner_of(old), _owner_of(new)
        if old is not None and before is not None and before != now:
            keys = self._keys.get(before.uid, set())
            keys.discard((old.metadata.namespace, old.metadata.name))
            if not keys:
                self._keys.pop(before.uid, None)
        if new is not None and now is not None:
            self._keys.setdefault(now.uid, set()).add((new.metadata.namespace, new.metadata.name))

    def of(self, pod: Pod, find: FindClaim) -> ResourceClaim | None:
        """Return the first special claim of a pod that is in the API, or None."""
        for namespace, name in sorted(self._keys.get(pod.uid, ())):
            claim = find(namespace, name)
            if claim is not None and is_special_of(claim, pod):
                return claim
        return None


def is_special_of(claim: ResourceClaim, pod: Pod) -> bool:
    """Return whether a claim was created for the extended resources of a pod."""
    owner = _owner_of(claim)
    return owner is not None and (owner.uid, owner.name) == (pod.uid, pod.name)


def owner_of_special(claim: ResourceClaim | None) -> tuple[str, ...]:
    """Return the key of the pod whose special claim this is."""
    owner = _owner_of(claim)
    return () if claim is None or owner is None else (f"{claim.metadata.namespace}/{owner.name}",)


def _owner_of(claim: ResourceClaim | None) -> OwnerReference | None:
    """Return the pod of a special claim."""
    if claim is None or claim.metadata.annotations.get(EXTENDED_RESOURCE_CLAIM) != "true":
        return None
    return claim.metadata.controller


def _owner(pod: Pod) -> OwnerReference:
    return OwnerReference(api_version="v1", kind="Pod", name=pod.name, uid=pod.uid, controller=True)
