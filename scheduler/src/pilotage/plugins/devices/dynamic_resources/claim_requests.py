"""The requests that change a claim; each returns the claim as the API server has it then."""

from collections.abc import Callable, Sequence
from typing import Any

from pilotage.framework.api.handle import Api, ApiFailed, NotAllowed
from pilotage.kinds.devices import DELETE_PROTECTION, Allocation, Consumer, ResourceClaim
from pilotage.model.pod import Pod
from pilotage.plugins.devices.dynamic_resources.claim_bodies import (
    Body,
    claim_in,
    deallocation_patch,
    finalizer_patch,
    has_null,
    path_of,
    replacement,
    status_patch,
    withdrawal_patch,
    without_finalizer_patch,
)
from pilotage.plugins.devices.dynamic_resources.pod_claims import key_of
from pilotage.plugins.devices.dynamic_resources.stored_claim import PROTOBUF, NotUnderstood, add_finalizer

CONFLICT, INVALID, NOT_FOUND = 409, 422, 404
TRIES = 5

Confirm = Callable[[ResourceClaim], ResourceClaim]


class ClaimRequests:
    """Changes claims for pods; `confirm` gets every state of a claim that the server has answered."""

    def __init__(self, api: Api, confirm: Confirm) -> None:
        self._api = api
        self._confirm = confirm

    async def get(self, claim: ResourceClaim) -> ResourceClaim:
        """Return a claim of this name as it is now."""
        return claim_in(await self._api.get(path_of(claim)))

    async def protect(self, claim: ResourceClaim, pod: Pod, node: str) -> ResourceClaim:
        """Add the finalizer, without which a deletion could leave devices that nothing frees."""
        try:
            answer = await self._api.patch(path_of(claim), finalizer_patch(claim), pod=pod, node=node)
        except ApiFailed as failure:
            if failure.status != INVALID:
                raise _at("add finalizer to", claim, failure) from failure
            try:
                answer = await self._protect_as_stored(claim, pod, node)
            except ApiFailed as other:
                raise _at("add finalizer to", claim, other) from other
        return self._confirm(claim_in(answer))

    async def _protect_as_stored(self, claim: ResourceClaim, pod: Pod, node: str) -> Any:
        """Do the same for a claim that does not take it from a client that speaks JSON."""
        path = path_of(claim)
        try:
            stored = add_finalizer(await self._api.get_bytes(path, PROTOBUF), DELETE_PROTECTION)
        except NotUnderstood as error:
            raise ApiFailed(f"the API server has sent something else: {error}", INVALID) from error
        if (stored.uid, stored.version) != (claim.metadata.uid, claim.metadata.resource_version):
            raise ApiFailed("the claim was changed", CONFLICT)
        return await self._api.put(path, stored.with_finalizer, content_type=PROTOBUF, pod=pod, node=node)

    async def reserve(
        self, claim: ResourceClaim, consumers: Sequence[Consumer], allocation: Allocation | None, pod: Pod, node: str
    ) -> ResourceClaim:
        """Set the consumers of a claim, and its devices if given."""
        path = path_of(claim, "status")
        try:
            if allocation is not None and has_null(allocation):
                body = await self._whole(claim, consumers, allocation)
                answer = await self._api.put(path, body, pod=pod, node=node)
            else:
                answer = await self._api.patch(path, status_patch(claim, consumers, allocation), pod=pod, node=node)
        except ApiFailed as failure:
            what = "add reservation to" if allocation is None else "add allocation and reservation to"
            raise _at(what, claim, failure) from failure
        return self._confirm(claim_in(answer))

    async def _whole(self, claim: ResourceClaim, consumers: Sequence[Consumer], allocation: Allocation) -> Body:
        """Return the claim as a whole: a merge patch would drop nulls from the parameters of drivers."""
        stored = await self._api.get(path_of(claim))
        if claim_in(stored).metadata.resource_version != claim.metadata.resource_version:
            raise ApiFailed("the claim was changed", CONFLICT)
        return replacement(stored, consumers, allocation)

    async def withdraw(self, claim: ResourceClaim, pod: Pod) -> None:
        """Remove a consumer, which may be deleted already."""
        body = withdrawal_patch(claim, pod)
        self._confirm(claim_in(await self._api.patch(path_of(claim, "status"), body, strategic=True)))

    async def deallocate(self, claim: ResourceClaim) -> None:
        """Free the devices of a claim."""
        self._confirm(claim_in(await self._api.patch(path_of(claim, "status"), deallocation_patch(claim))))

    async def create(self, body: Body, pod: Pod, node: str) -> ResourceClaim:
        """Create the claim of a pod."""
        path = ResourceClaim.api.path(pod.namespace)
        return self._confirm(claim_in(await self._api.post(path, body, pod=pod, node=node)))

    async def delete(self, claim: ResourceClaim) -> None:
        """Delete a claim that was created for a pod, with its finalizer."""
        for attempt in range(TRIES):
            try:
                if DELETE_PROTECTION in claim.metadata.finalizers:
                    claim = claim_in(await self._api.patch(path_of(claim), without_finalizer_patch(claim)))
                await self._api.delete(path_of(claim), {"preconditions": {"uid": claim.metadata.uid}})
            except ApiFailed as failure:
                if failure.status == NOT_FOUND:
                    return
                if failure.status != CONFLICT or attempt == TRIES - 1:
                    raise
                found = await self.get(claim)
                if found.metadata.uid != claim.metadata.uid:
                    return
                claim = found
            else:
                return


def is_conflict(failure: ApiFailed) -> bool:
    """Return whether a claim was changed or replaced since it was read."""
    return failure.status == CONFLICT or (failure.status == INVALID and "metadata.uid" in str(failure))


def is_open(failure: ApiFailed) -> bool:
    """Return whether a write may have taken effect, now or later."""
    return failure.status == 0 or failure.status >= 500


def _at(what: str, claim: ResourceClaim, failure: ApiFailed) -> ApiFailed:
    """Return a failure with kube-scheduler's text."""
    if isinstance(failure, NotAllowed):
        return failure
    return ApiFailed(f"{what} claim {key_of(claim)}: {failure}", failure.status)
