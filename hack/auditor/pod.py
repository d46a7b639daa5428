"""Pods with the fields that the rules use."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from auditor.demand import Manifest, Note, demand_of
from auditor.placement import Placement, placement_of
from auditor.ports import HostPort, host_ports
from auditor.repulsion import Repulsion, repulsions_of
from auditor.unjudged import reason_not_to_judge

FINISHED_PHASES = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class Pod:
    """One version of one pod, decoded."""

    uid: str
    version: str
    namespace: str
    name: str
    created: float
    scheduler: str
    node: str
    nominated: str
    priority: int
    gated: bool
    deleting: bool
    finished: bool
    demand: tuple[tuple[str, int], ...]
    ports: frozenset[HostPort]
    placement: Placement
    labels: tuple[tuple[str, str], ...]
    repels: tuple[Repulsion, ...]
    claims: tuple[str, ...]  # the names of its device claims; empty for one that was never made
    unjudged: str | None

    @property
    def holds(self) -> str:
        """The node whose room this pod takes, or nothing."""
        return "" if self.finished else self.node

    @property
    def waits(self) -> bool:
        """Whether a scheduler should be looking for a node for it."""
        return not (self.node or self.gated or self.deleting or self.finished)

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


def pod_of(raw: dict[str, Any], note: Note) -> Pod:
    """Decode a pod as the API returns it."""
    meta, spec, status = raw["metadata"], raw.get("spec") or {}, raw.get("status") or {}
    where = f"pod {meta.get('namespace', '')}/{meta['name']}"
    node = spec.get("nodeName") or ""
    return Pod(
        uid=meta["uid"],
        version=meta.get("resourceVersion", ""),
        namespace=meta.get("namespace", ""),
        name=meta["name"],
        created=seconds(meta.get("creationTimestamp")),
        scheduler=spec.get("schedulerName") or "default-scheduler",
        node=node,
        nominated="" if node else status.get("nominatedNodeName") or "",
        priority=spec.get("priority") or 0,
        gated=bool(spec.get("schedulingGates")),
        deleting=bool(meta.get("deletionTimestamp")),
        finished=status.get("phase") in FINISHED_PHASES,
        demand=tuple(sorted(demand_of(raw, lambda text: note(f"{where}: {text}")).items())),
        ports=host_ports(spec),
        placement=placement_of(spec),
        labels=tuple(sorted((meta.get("labels") or {}).items())),
        repels=repulsions_of(meta.get("namespace", ""), spec),
        claims=claims_of(spec, status),
        unjudged=reason_not_to_judge(meta, spec),
    )


def claims_of(spec: Manifest, status: Manifest) -> tuple[str, ...]:
    """Return the names of a pod's device claims; one that a template makes may turn out not to be needed."""
    made = {one["name"]: one.get("resourceClaimName") for one in status.get("resourceClaimStatuses") or ()}
    entries = spec.get("resourceClaims") or ()
    names = [one.get("resourceClaimName") or made.get(one["name"], "") for one in entries]
    extended = (status.get("extendedResourceClaimStatus") or {}).get("resourceClaimName")
    return tuple(name for name in [*names, extended] if name is not None)


def seconds(timestamp: str | None) -> float:
    """Return a Kubernetes timestamp as seconds since the epoch, 0 where there is none or it cannot be read."""
    try:
        return datetime.fromisoformat(timestamp).timestamp() if timestamp else 0.0
    except ValueError:
        return 0.0


def name_of(raw: Manifest) -> str:
    """Return a name for an object that cannot be decoded."""
    meta = raw.get("metadata") or {}
    return f"{meta.get('namespace', '')}/{meta.get('name', '?')}".lstrip("/")
