"""What a scheduler wrote to the claims of a pod, without what differs from time to time."""

from collections.abc import Iterable
from typing import Any

from oracle.scenario import Manifest

MADE = "made for the pod"  # instead of the name of such a claim, which is up to the server


def written(pod: Manifest, claims: Iterable[Manifest]) -> dict[str, Manifest]:
    """The claims of a bound pod: their devices, consumers and finalizers; of a claim made for it everything."""
    namespace = pod["metadata"]["namespace"]
    there = {one["metadata"]["name"]: one for one in claims if one["metadata"]["namespace"] == namespace}
    found = {name: state(there[name]) for name in _names(pod) if name in there}
    special = pod.get("status", {}).get("extendedResourceClaimStatus")
    if special and special["resourceClaimName"] in there:
        one = there[special["resourceClaimName"]]
        found[MADE] = state(one) | made(one) | {"mappings": special["requestMappings"]}
    return found


def plain(value: Any) -> Any:
    """The same without what is empty, and without the names that chance gives to shares."""
    if isinstance(value, dict):
        kept = {key: "some" if key == "shareID" else plain(inner) for key, inner in value.items()}
        return {key: inner for key, inner in kept.items() if inner not in (None, "", [], {})}
    return [plain(inner) for inner in value] if isinstance(value, list | tuple) else value


def _names(pod: Manifest) -> list[str]:
    generated = {
        one["name"]: one.get("resourceClaimName") for one in pod.get("status", {}).get("resourceClaimStatuses", ())
    }
    entries = pod["spec"].get("resourceClaims", ())
    return [name for one in entries if (name := one.get("resourceClaimName") or generated.get(one["name"]))]


def state(claim: Manifest) -> Manifest:
    """What a claim has, and for whom."""
    status = claim.get("status", {})
    allocation = {key: value for key, value in status.get("allocation", {}).items() if key != "allocationTimestamp"}
    return {
        "allocation": plain(allocation),
        "reservedFor": sorted(one["uid"] for one in status.get("reservedFor", ())),
        "finalizers": list(claim["metadata"].get("finalizers", ())),
    }


def made(claim: Manifest) -> Manifest:
    """What else a claim that a scheduler made is like."""
    metadata = claim["metadata"]
    owners = [{key: one[key] for key in ("kind", "name", "controller")} for one in metadata.get("ownerReferences", ())]
    return {
        "generateName": metadata.get("generateName"),
        "annotations": metadata.get("annotations"),
        "owners": owners,
        "spec": plain(claim["spec"]),
    }
