"""The claims of a pod: found by name or by template, each once."""

from collections.abc import Callable, Iterator

from pilotage.framework.api.verdicts import Rejection
from pilotage.kinds.devices import ResourceClaim
from pilotage.model.pod import Pod
from pilotage.model.pod_spec import PodResourceClaim

FindClaim = Callable[[str, str], ResourceClaim | None]  # by namespace and name


def claim_id(claim: ResourceClaim) -> str:
    """Return the UID of a claim, or its key if it has none because it was never in an API server."""
    return claim.metadata.uid or key_of(claim)


def key_of(claim: ResourceClaim) -> str:
    """Return namespace/name."""
    return f"{claim.metadata.namespace}/{claim.metadata.name}"


def claims_of(pod: Pod, find: FindClaim) -> list[ResourceClaim] | Rejection:
    """Return the claims of a pod in their order, or why one of them cannot be used."""
    found: dict[str, ResourceClaim] = {}
    for entry in pod.spec.resource_claims:
        name = _name(pod, entry)
        if isinstance(name, Rejection):
            return name
        if name is None:
            continue
        claim = find(pod.namespace, name)
        if claim is None:
            return hopeless(f'could not find ResourceClaim "{pod.namespace}/{name}"')
        if (problem := _problem(pod, entry, claim)) is not None:
            return problem
        found[claim_id(claim)] = claim  # two entries may name one claim, which is allocated once
    return list(found.values())


def claim_names(pod: Pod) -> Iterator[str]:
    """Yield the names of the pod's claims, as far as they are known."""
    for entry in pod.spec.resource_claims:
        name = _name(pod, entry)
        if isinstance(name, str):
            yield name


def hopeless(text: str) -> Rejection:
    """Return a rejection that evictions cannot help."""
    return Rejection(text, preemption_helps=False)


def _name(pod: Pod, entry: PodResourceClaim) -> str | Rejection | None:
    """Return the name of a claim, None if none is needed, or why there is no name."""
    if entry.resource_claim_name is not None:
        return entry.resource_claim_name
    if entry.resource_claim_template_name is None:
        text = f'pod "{pod.key}", spec.resourceClaim "{entry.name}": none of the supported fields are set'
        return hopeless(text)
    for made in pod.status.resource_claim_statuses:
        if made.name == entry.name:
            return made.resource_claim_name
    return hopeless(f'pod "{pod.key}": ResourceClaim not created yet')


def _problem(pod: Pod, entry: PodResourceClaim, claim: ResourceClaim) -> Rejection | None:
    """Return why a claim that exists cannot be used."""
    metadata = claim.metadata
    if metadata.deletion_timestamp is not None:
        return hopeless(f'resourceclaim "{metadata.name}" is being deleted')
    owner = metadata.controller
    if entry.resource_claim_name is None and (owner is None or owner.uid != pod.uid):
        return hopeless(f"ResourceClaim {key_of(claim)} was not created for Pod {pod.key} (Pod is not owner)")
    return None
