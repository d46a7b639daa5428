"""Which changes of claims can help a pod."""

from pilotage.framework.api.verdicts import Rejection
from pilotage.kinds.devices import ResourceClaim
from pilotage.model.pod import Pod
from pilotage.plugins.devices.dynamic_resources.pod_claims import FindClaim, claim_id, claims_of


def helps(pod: Pod, old: ResourceClaim | None, new: ResourceClaim | None, find: FindClaim) -> bool:
    """Return whether a pod should be tried again, because devices are free or one of its claims has changed."""
    if new is None:
        return old is not None and old.status.allocation is not None
    freed = old is not None and old.status.allocation is not None and new.status.allocation is None
    if not freed and not _may_be_of(pod, new):  # most claims are of others, and this is much cheaper than the rest
        return False
    claims = claims_of(pod, find)
    if isinstance(claims, Rejection):
        return False
    if freed:
        return True
    if all(claim_id(each) != claim_id(new) for each in claims):
        return False
    return old is None or old.status != new.status


def _may_be_of(pod: Pod, claim: ResourceClaim) -> bool:
    """Return whether a pod names a claim."""
    name = claim.metadata.name
    if claim.metadata.namespace != pod.namespace:
        return False
    by_name = any(entry.resource_claim_name == name for entry in pod.spec.resource_claims)
    return by_name or any(made.resource_claim_name == name for made in pod.status.resource_claim_statuses)
