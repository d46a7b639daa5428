"""Nodes with the fields that the rules use."""

from dataclasses import dataclass, field
from typing import Any

from auditor.demand import Manifest, Note, amounts
from auditor.placement import HARD_EFFECTS, UNSCHEDULABLE, Taint
from auditor.quantity import units


@dataclass(frozen=True, slots=True)
class Node:
    """One version of one node, decoded; two versions are equal when no rule could tell them apart."""

    name: str
    uid: str
    version: str = field(compare=False)
    labels: dict[str, str]
    taints: tuple[Taint, ...]
    usable: bool
    allocatable: dict[str, int]


def node_of(raw: dict[str, Any], note: Note) -> Node:
    """Decode a node as the API returns it."""
    meta, spec, status = raw["metadata"], raw.get("spec") or {}, raw.get("status") or {}
    offered = amounts(status.get("allocatable"), lambda text: note(f"node {meta['name']}: {text}"))
    return Node(
        name=meta["name"],
        uid=meta.get("uid", ""),
        version=meta.get("resourceVersion", ""),
        labels=dict(meta.get("labels") or {}),
        taints=taints_of(spec),
        usable=is_ready(status) and not meta.get("deletionTimestamp"),
        allocatable={name: units(name, value) for name, value in offered.items()},
    )


def taints_of(spec: Manifest) -> tuple[Taint, ...]:
    """Return the taints that can keep a pod away; a cordoned node counts as tainted."""
    found = [Taint(t.get("key", ""), t.get("value", ""), t.get("effect", "")) for t in spec.get("taints") or ()]
    cordon = [UNSCHEDULABLE] if spec.get("unschedulable") else []
    return tuple(taint for taint in [*found, *cordon] if taint.effect in HARD_EFFECTS)


def is_ready(status: Manifest) -> bool:
    """Return whether the node is Ready."""
    return any(c.get("type") == "Ready" and c.get("status") == "True" for c in status.get("conditions") or ())
