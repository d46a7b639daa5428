"""Claims and volumes as they could be, with the remedies that say so."""

from collections.abc import Mapping
from typing import Any

import msgspec

from pilotage.framework.api.remedies import Change, Difference, Remedy, Target, Value
from pilotage.kinds.storage import STORAGE, PersistentVolumeClaim

CLAIM = "PersistentVolumeClaim"


def key_of(claim: PersistentVolumeClaim) -> str:
    """Return namespace/name."""
    return f"{claim.metadata.namespace}/{claim.metadata.name}"


def target_of(claim: PersistentVolumeClaim) -> Target:
    """Return the claim as the object of a patch."""
    return Target(CLAIM, claim.metadata.name, claim.metadata.namespace, "merge")


def with_spec(claim: PersistentVolumeClaim, **fields: Any) -> PersistentVolumeClaim:
    """Return a claim with other fields in its spec."""
    return msgspec.structs.replace(claim, spec=msgspec.structs.replace(claim.spec, **fields))


def with_size(claim: PersistentVolumeClaim, size: str) -> PersistentVolumeClaim:
    """Return a claim that asks for another size."""
    resources = claim.spec.resources
    return with_spec(
        claim, resources=msgspec.structs.replace(resources, requests={**resources.requests, STORAGE: size})
    )


def claim_remedy(
    code: str,
    words: str,
    claim: PersistentVolumeClaim,
    changed: PersistentVolumeClaim,
    patch: Mapping[str, Any],
    change: Change,
    values: Mapping[str, Value],
    size: float = 1.0,
) -> Remedy:
    """Return what the owner of a claim can change in it; its name is the value `claim`."""
    return Remedy(
        code=code,
        actor="owner",
        words=words,
        values={"claim": key_of(claim), **values},
        changes=(change,),
        size=size,
        target=target_of(claim),
        patch=patch,
        difference=Difference(objects=(changed,)),
    )
