"""Claims as they are once they are written, for simulations, which write nothing."""

from collections.abc import Sequence

from msgspec import structs

from pilotage.kinds.devices import Allocation, ResourceClaim
from pilotage.model.pod import Pod
from pilotage.plugins.devices.dynamic_resources.claim_bodies import consumer, is_reserved_for
from pilotage.plugins.devices.dynamic_resources.claims_ledger import ClaimsLedger
from pilotage.plugins.devices.dynamic_resources.device_cycle import DeviceCycle
from pilotage.plugins.devices.dynamic_resources.pod_claims import claim_id, key_of


def conclude(state: DeviceCycle, pod: Pod, claims: ClaimsLedger) -> Sequence[ResourceClaim]:
    """Return the claims of a pod with their devices and the pod as a consumer, and end the decisions about them."""
    chosen = {claim_id(claim): allocation for claim, allocation in state.chosen}
    for uid in chosen:
        claims.finish(uid)
    found = [_written(claims.latest(claim_id(each)) or each, chosen.get(claim_id(each)), pod) for each in state.claims]
    if (special := state.special) is not None:
        found.append(_written(_named(special, pod), chosen[claim_id(special)], pod))
    return found


def _written(claim: ResourceClaim, allocation: Allocation | None, pod: Pod) -> ResourceClaim:
    status = claim.status
    consumers = status.reserved_for if is_reserved_for(claim, pod) else (*status.reserved_for, consumer(pod))
    held = allocation if status.allocation is None else status.allocation
    return structs.replace(claim, status=structs.replace(status, allocation=held, reserved_for=consumers))


def _named(special: ResourceClaim, pod: Pod) -> ResourceClaim:
    """Return the special claim with a name, which it would get from the API server."""
    metadata = structs.replace(special.metadata, name=f"{pod.name}-extended-resources")
    named = structs.replace(special, metadata=metadata)
    return structs.replace(named, metadata=structs.replace(metadata, uid=f"{ResourceClaim.api.name}/{key_of(named)}"))
