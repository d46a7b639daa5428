"""The bodies of requests that change claims."""

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec import structs

from pilotage.kinds.devices import DELETE_PROTECTION, Allocation, Consumer, ResourceClaim, ResourceClaimStatus
from pilotage.model.pod import Pod

Body = dict[str, Any]


def path_of(claim: ResourceClaim, part: str = "") -> str:
    """Return the path of a claim, or of a subresource."""
    namespace, name = quote(claim.metadata.namespace, safe=""), quote(claim.metadata.name, safe="")
    return ResourceClaim.api.path(namespace, name) + (f"/{part}" if part else "")


def claim_in(answer: Any) -> ResourceClaim:
    """Return the claim in an answer of the API server."""
    # Parameters of drivers are kept as they are, which needs bytes.
    return msgspec.json.decode(msgspec.json.encode(answer), type=ResourceClaim)


def consumer(pod: Pod) -> Consumer:
    """Return the reference to a pod in a claim."""
    return Consumer(resource="pods", name=pod.name, uid=pod.uid)


def is_reserved_for(claim: ResourceClaim, pod: Pod) -> bool:
    """Return whether a pod may use a claim."""
    return any(each.uid == pod.uid for each in claim.status.reserved_for)


def is_only_for(claim: ResourceClaim, pod: Pod) -> bool:
    """Return whether no other pod may use a claim."""
    return all(each.uid == pod.uid for each in claim.status.reserved_for)


def finalizer_patch(claim: ResourceClaim) -> Body:
    """Return the merge patch that protects a claim from being deleted while it has devices."""
    return {"metadata": {**_precondition(claim), "finalizers": [*claim.metadata.finalizers, DELETE_PROTECTION]}}


def without_finalizer_patch(claim: ResourceClaim) -> Body:
    """Return the merge patch that ends this protection."""
    left = [each for each in claim.metadata.finalizers if each != DELETE_PROTECTION]
    return {"metadata": {**_precondition(claim), "finalizers": left}}


def status_patch(claim: ResourceClaim, reserved_for: Iterable[Consumer], allocation: Allocation | None) -> Body:
    """Return the merge patch with all consumers of a claim and, if given, its devices."""
    status: Body = {"reservedFor": list(reserved_for)}
    if allocation is not None:
        status["allocation"] = allocation
    return {"metadata": _precondition(claim), "status": status}


def withdrawal_patch(claim: ResourceClaim, pod: Pod) -> Body:
    """Return the strategic patch that removes one consumer, whatever else has changed."""
    gone = {"$patch": "delete", "uid": pod.uid}
    return {"metadata": {"uid": claim.metadata.uid}, "status": {"reservedFor": [gone]}}


def deallocation_patch(claim: ResourceClaim) -> Body:
    """Return the merge patch that frees the devices of a claim."""
    return {"metadata": _precondition(claim), "status": {"allocation": None, "reservedFor": None, "devices": None}}


def replacement(stored: Mapping[str, Any], reserved_for: Iterable[Consumer], allocation: Allocation) -> Body:
    """Return a whole claim with devices."""
    status = {**stored.get("status", {}), "reservedFor": list(reserved_for), "allocation": allocation}
    return {**stored, "status": status}


def stamped(allocation: Allocation, moment: str) -> Allocation:
    """Return an allocation with its time, without which kube-scheduler could never share the claim."""
    return structs.replace(allocation, allocation_timestamp=moment)


def as_allocated(claim: ResourceClaim, allocation: Allocation, consumers: Iterable[Consumer] = ()) -> ResourceClaim:
    """Return a claim as it would be with these devices, and these consumers besides its own."""
    return structs.replace(claim, status=ResourceClaimStatus(allocation, (*claim.status.reserved_for, *consumers)))


def without_devices(claim: ResourceClaim) -> ResourceClaim:
    """Return a claim as it would be if it lost its devices; nobody has written that."""
    metadata = structs.replace(claim.metadata, resource_version="")
    return structs.replace(claim, metadata=metadata, status=ResourceClaimStatus())


def has_null(allocation: Allocation) -> bool:
    """Return whether parameters of a driver contain a null, which a merge patch would remove."""
    parameters = (each.opaque.parameters for each in allocation.devices.config if each.opaque is not None)
    return any(b"null" in bytes(raw) and _contains_null(msgspec.json.decode(bytes(raw))) for raw in parameters)


def are_same_devices(one: Allocation, other: Allocation) -> bool:
    """Return whether two allocations are one and the same, even if the server writes amounts in another way."""
    return _identities(one) == _identities(other)


def _identities(allocation: Allocation) -> list[tuple[str, str, str, str, str | None]]:
    results = allocation.devices.results
    return [(each.request, each.driver, each.pool, each.device, each.share_id) for each in results]


def _contains_null(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_contains_null, value.values()))
    return value is None or (isinstance(value, list) and any(map(_contains_null, value)))


def _precondition(claim: ResourceClaim) -> Body:
    """Return the preconditions: the server refuses the change if the claim was changed or replaced."""
    return {"uid": claim.metadata.uid, "resourceVersion": claim.metadata.resource_version}
