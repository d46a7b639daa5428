"""Which changes of claims can help a pod."""

from collections.abc import Callable, Collection

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


class ClaimUsers:
    """The pods that name claims themselves; those that get claims from templates own them."""

    def __init__(self, find_pod: Callable[[str], Pod | None] | None) -> None:
        self._find_pod = find_pod  # None if pods cannot be looked up, as in simulations
        self._keys: dict[tuple[str, str], dict[str, str]] = {}  # by namespace and name of the claim: keys and uids

    def note(self, pod: Pod) -> None:
        """Remember the claims that a pod names."""
        for entry in pod.spec.resource_claims:
            if entry.resource_claim_name is not None:
                self._keys.setdefault((pod.namespace, entry.resource_claim_name), {})[pod.key] = pod.uid

    def concerned(self, old: ResourceClaim | None, new: ResourceClaim | None) -> Collection[str] | None:
        """Return the keys of the pods that a change can help; None if it can help any, because devices are free."""
        if old is not None and old.status.allocation is not None and (new is None or new.status.allocation is None):
            return None
        if new is None or (old is not None and old.status == new.status):
            return ()
        place = new.metadata.namespace, new.metadata.name
        owner = new.metadata.controller
        owned = () if owner is None else (f"{new.metadata.namespace}/{owner.name}",)
        return (*self._waiting(place), *owned)

    def _waiting(self, place: tuple[str, str]) -> Collection[str]:
        named = self._keys.get(place, {})
        if self._find_pod is not None:
            for key in [key for key, uid in named.items() if not _needs_node(self._find_pod(key), uid)]:
                del named[key]
            if not named:
                self._keys.pop(place, None)
        return tuple(named)


def _needs_node(pod: Pod | None, uid: str) -> bool:
    return pod is not None and pod.uid == uid and not pod.node_name


def _may_be_of(pod: Pod, claim: ResourceClaim) -> bool:
    """Return whether a pod names a claim."""
    name = claim.metadata.name
    if claim.metadata.namespace != pod.namespace:
        return False
    by_name = any(entry.resource_claim_name == name for entry in pod.spec.resource_claims)
    return by_name or any(made.resource_claim_name == name for made in pod.status.resource_claim_statuses)
