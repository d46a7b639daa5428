"""What a scheduler wrote to the claims of a pod, without what differs from time to time."""

from collections.abc import Iterable
from typing import Any

from oracle.devices import RESOURCE
from oracle.scenario import Manifest

EXTENDED = "resource.kubernetes.io/extended-resource-claim"


def written(pod: Manifest, claims: Iterable[Manifest]) -> dict[str, Manifest]:
    """The claims of a bound pod: their devices, consumers and finalizers; of a claim made for it everything."""
    namespace = pod["metadata"]["namespace"]
    there = {one["metadata"]["name"]: one for one in claims if one["metadata"]["namespace"] == namespace}
    found = {name: _state(there[name]) for name in _names(pod) if name in there}
    special = pod.get("status", {}).get("extendedResourceClaimStatus")
    if special and special["resourceClaimName"] in there:
        made = there[special["resourceClaimName"]]
        found["made for the pod"] = _state(made) | _made(made) | {"mappings": special["requestMappings"]}
    return found


def plain(value: Any) -> Any:
    """The same without what is empty, and without the names that chance gives to shares."""
    if isinstance(value, dict):
        made = {key: "some" if key == "shareID" else plain(inner) for key, inner in value.items()}
        return {key: inner for key, inner in made.items() if inner not in (None, "", [], {})}
    return [plain(inner) for inner in value] if isinstance(value, list | tuple) else value


def _names(pod: Manifest) -> list[str]:
    made = {one["name"]: one.get("resourceClaimName") for one in pod.get("status", {}).get("resourceClaimStatuses", ())}
    entries = pod["spec"].get("resourceClaims", ())
    return [name for one in entries if (name := one.get("resourceClaimName") or made.get(one["name"]))]


def _state(claim: Manifest) -> Manifest:
    status = claim.get("status", {})
    allocation = {key: value for key, value in status.get("allocation", {}).items() if key != "allocationTimestamp"}
    return {
        "allocation": plain(allocation),
        "reservedFor": sorted([one["resource"], one["name"], one["uid"]] for one in status.get("reservedFor", ())),
        "finalizers": list(claim["metadata"].get("finalizers", ())),
    }


def _made(claim: Manifest) -> Manifest:
    metadata = claim["metadata"]
    owners = [{key: one[key] for key in ("kind", "name", "controller")} for one in metadata.get("ownerReferences", ())]
    return {
        "generateName": metadata.get("generateName"),
        "annotations": metadata.get("annotations"),
        "owners": owners,
        "spec": claim["spec"],
        "apiVersion": claim.get("apiVersion", RESOURCE),
    }
