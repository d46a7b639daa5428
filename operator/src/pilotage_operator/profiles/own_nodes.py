"""A profile's own nodes, and the taint that keeps other schedulers off them; no I/O.

A tainted node also has a label with the release, so that taints of other releases and users are not changed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from pilotage.config.handshake import text_hash
from pilotage.scheduler_profiles.judge import read_spec
from pilotage.scheduler_profiles.sharing_fields import TAINT, NodeRequirement, OwnNodes, OwnNodeSelector
from pilotage_operator.profiles.world import Metadata, StoredProfile

EFFECT = "NoSchedule"
TAINTED_BY = "pilotage.dev/only-by"  # on a node: the release that has tainted it
LONGEST_LABEL = 63
NOT_ALLOWED = "the operator is not allowed to taint nodes; set controller.taintNodes in the values of the release"
Taint = dict[str, Any]


class NodeSpec(msgspec.Struct):
    """The spec of a node."""

    taints: list[Taint] = msgspec.field(default_factory=list)


class StoredNode(msgspec.Struct):
    """A node with the relevant fields."""

    metadata: Metadata
    spec: NodeSpec = msgspec.field(default_factory=NodeSpec)

    @property
    def name(self) -> str:
        """Return its name."""
        return self.metadata.name


@dataclass(frozen=True)
class PatchNode:
    """Change the taints of a node, unless it has changed meanwhile."""

    name: str
    patch: Mapping[str, Any]


def own_nodes_of(profile: StoredProfile, instance: str) -> OwnNodes | None:
    """Return the nodes section of the running spec of a profile that this release serves."""
    status = profile.status if isinstance(profile.status, dict) else {}
    if status.get("instance") != instance or profile.metadata.deletion_timestamp:
        return None
    spec, _ = read_spec(_running(profile, status))
    return None if spec is None else spec.nodes


def _running(profile: StoredProfile, status: Mapping[str, Any]) -> Any:
    said = {each.get("type"): each for each in status.get("conditions") or () if isinstance(each, dict)}
    accepted, taken_back = said.get("Accepted", {}), said.get("RolledBack", {})
    is_new = accepted.get("observedGeneration") == profile.metadata.generation
    if is_new and accepted.get("status") == "True" and taken_back.get("status") != "True":
        return profile.spec
    return (status.get("lastGood") or {}).get("spec") or {}


def release_value(instance: str) -> str:
    """Return the release as a label value."""
    value = instance.replace("/", ".")
    return value if len(value) <= LONGEST_LABEL else text_hash(instance)


def selector_text(selector: OwnNodeSelector) -> str:
    """Return a selector in the format of a query."""
    exact = [f"{key}={value}" for key, value in sorted((selector.match_labels or {}).items())]
    return ",".join([*exact, *map(_condition, selector.match_expressions or ())])


def _condition(requirement: NodeRequirement) -> str:
    values = ",".join(requirement.values or ())
    match requirement.operator:
        case "In":
            return f"{requirement.key} in ({values})"
        case "NotIn":
            return f"{requirement.key} notin ({values})"
        case "Exists":
            return requirement.key
        case _:
            return f"!{requirement.key}"


def taint_patches(
    wanted: Mapping[str, Sequence[StoredNode]], marked: Iterable[StoredNode], release: str
) -> list[PatchNode]:
    """Return the patches that add taints to nodes and remove outdated ones.

    `wanted` are the nodes of each profile with the taint enabled, `marked` those that this release has tainted. A node
    of two profiles is tainted for the first.
    """
    nodes = {node.name: node for node in marked}
    whose: dict[str, str] = {}
    for profile in sorted(wanted):
        for node in wanted[profile]:
            nodes[node.name] = node
            whose.setdefault(node.name, profile)
    patches = (_patch(node, whose.get(name, ""), release) for name, node in sorted(nodes.items()))
    return [patch for patch in patches if patch is not None]


def is_tainted_for(node: StoredNode, profile: str) -> bool:
    """Return whether a node has the taint of a profile."""
    return any(_is_ours(taint) and taint.get("value") == profile for taint in node.spec.taints)


def _patch(node: StoredNode, profile: str, release: str) -> PatchNode | None:
    """Return the patch that taints a node for a profile, or for none; None if nothing has to change."""
    by = node.metadata.labels.get(TAINTED_BY)
    has = [taint for taint in node.spec.taints if _is_ours(taint)]
    if (by is None and has) or by not in (None, release):
        return None  # not ours
    others = [taint for taint in node.spec.taints if not _is_ours(taint)]
    taints = [*others, {"key": TAINT, "value": profile, "effect": EFFECT}] if profile else others
    label = release if profile else None
    if by == label and [each.get("value") for each in has] == ([profile] if profile else []):
        return None
    version = {"resourceVersion": node.metadata.resource_version, "labels": {TAINTED_BY: label}}
    return PatchNode(node.name, {"metadata": version, "spec": {"taints": taints or None}})


def _is_ours(taint: Taint) -> bool:
    return taint.get("key") == TAINT and taint.get("effect") == EFFECT
