"""Changes of a PodGroup that would help its gang."""

from typing import Any

import msgspec

from pilotage.framework.api.remedies import Change, Difference, Remedy, Target
from pilotage.kinds.pod_groups import GangPolicy, NativePodGroup, PodGroup, PodGroupSpec
from pilotage.model.gangs import GangName
from pilotage.model.metadata import Metadata
from pilotage.model.pod import Pod


def smaller_quorum(group: PodGroup | NativePodGroup, before: int, after: int) -> Remedy:
    """Return a group with a smaller quorum."""
    if isinstance(group, PodGroup):
        field: str = "minMember"
        patch: dict[str, Any] = {"spec": {"minMember": after}}
        changed: PodGroup | NativePodGroup = msgspec.structs.replace(
            group, spec=msgspec.structs.replace(group.spec, min_member=after)
        )
    else:
        field, patch = "schedulingPolicy.gang.minCount", {"spec": {"schedulingPolicy": {"gang": {"minCount": after}}}}
        policy = msgspec.structs.replace(group.spec.scheduling_policy, gang=GangPolicy(after))
        changed = msgspec.structs.replace(group, spec=msgspec.structs.replace(group.spec, scheduling_policy=policy))
    metadata = group.metadata
    return Remedy(
        code="lowerQuorum",
        actor="owner",
        words="set {field} of the PodGroup {group} to {to} instead of {from}",
        values={
            "group": f"{metadata.namespace}/{metadata.name}",
            "field": field.rpartition(".")[2],
            "from": before,
            "to": after,
        },
        changes=(Change(f"spec.{field}", before, after),),
        size=1.0 + (before - after) / before,
        target=Target("PodGroup", metadata.name, metadata.namespace, "merge", group.api.group),
        patch=patch,
        difference=Difference(objects=(changed,)),
    )


def missing_group(gang: GangName, pod: Pod) -> Remedy:
    """Return the group that a pod names and that does not exist."""
    group = PodGroup(Metadata(name=gang.name, namespace=gang.namespace), PodGroupSpec(min_member=1))
    return Remedy(
        code="createGroup",
        actor="owner",
        words="create the PodGroup {group}, or remove the label from the pod",
        values={"group": str(gang)},
        target=Target("PodGroup", gang.name, gang.namespace, "merge", PodGroup.api.group),
        patch={
            "apiVersion": PodGroup.api.api_version,
            "kind": "PodGroup",
            "metadata": {"name": gang.name, "namespace": gang.namespace},
            "spec": {"minMember": 1},
        },
        difference=Difference(objects=(group,)),
    )
