"""Claims for devices with the fields that the rules use."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from auditor.demand import Manifest, Note, amounts
from auditor.placement import Placement, term_of

PROTECTION = "resource.kubernetes.io/delete-protection"


class Device(NamedTuple):
    """The name of a device in a cluster."""

    driver: str
    pool: str
    name: str

    def __str__(self) -> str:
        return "/".join(self)


class Use(NamedTuple):
    """What a claim has of a device: all of it, or a share with amounts of its capacities."""

    device: Device
    is_share: bool
    consumed: tuple[tuple[str, Fraction], ...]


@dataclass(frozen=True, slots=True)
class Claim:
    """One version of one claim, decoded."""

    uid: str
    version: str
    namespace: str
    name: str
    is_allocated: bool
    is_protected: bool
    uses: tuple[Use, ...]  # what counts; access for admins does not
    pods: frozenset[str]  # the uids of the pods that may use it, as far as they are named one by one
    has_groups: bool  # whether others than pods may use it
    placement: Placement  # of the nodes that can use it

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


def claim_of(raw: dict[str, Any], note: Note) -> Claim:
    """Decode a claim as the API returns it."""
    meta, status = raw["metadata"], raw.get("status") or {}
    where = f"claim {meta.get('namespace', '')}/{meta['name']}"
    allocation = status.get("allocation")
    results = ((allocation or {}).get("devices") or {}).get("results") or ()
    consumers = status.get("reservedFor") or ()
    return Claim(
        uid=meta["uid"],
        version=meta.get("resourceVersion", ""),
        namespace=meta.get("namespace", ""),
        name=meta["name"],
        is_allocated=allocation is not None,
        is_protected=PROTECTION in (meta.get("finalizers") or ()),
        uses=tuple(use_of(one, lambda text: note(f"{where}: {text}")) for one in results if not one.get("adminAccess")),
        pods=frozenset(one["uid"] for one in consumers if one.get("resource") == "pods"),
        has_groups=any(one.get("resource") != "pods" for one in consumers),
        placement=placement_of(allocation or {}),
    )


def use_of(raw: Manifest, note: Note) -> Use:
    """Return one result of an allocation."""
    consumed = tuple(sorted(amounts(raw.get("consumedCapacity"), note).items()))
    return Use(Device(raw["driver"], raw["pool"], raw["device"]), bool(raw.get("shareID")), consumed)


def placement_of(allocation: Manifest) -> Placement:
    """Return which nodes can use an allocation; without a selector all can."""
    selector = allocation.get("nodeSelector")
    terms = None if selector is None else tuple(term_of(term) for term in selector.get("nodeSelectorTerms") or ())
    return Placement(terms=terms)
