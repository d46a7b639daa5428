"""Plays the part of Kubernetes' controller of resource claims: makes them from templates, and frees them."""

from collections.abc import Iterable, Sequence

from msgspec import structs

from pilotage.kinds.devices import (
    ClaimMetadata,
    ResourceClaim,
    ResourceClaimStatus,
    ResourceClaimTemplate,
)
from pilotage.kinds.kube_object import KubeObject
from pilotage.model.metadata import OwnerReference
from pilotage.model.node import Node
from pilotage.model.pod import Pod, PodObject
from pilotage.model.pod_spec import PodResourceClaim
from pilotage.model.pod_status import ClaimStatus
from pilotage.scheduling.intake import ObjectIntake

ENTRY = "resource.kubernetes.io/pod-claim-name"
LONGEST = 253  # characters of a name

Found = Pod | Node | KubeObject
Key = tuple[str, str]  # namespace and name


def with_claims(objects: Sequence[Found]) -> tuple[list[Found], list[str]]:
    """Return the objects with claims for the pods that name a template, and which templates are missing."""
    maker = _Maker(objects)
    found = [maker.complete(each) if isinstance(each, Pod) else each for each in objects]
    return [*maker.made, *found], maker.missing


class _Maker:
    """Makes claims with names that no other one has."""

    def __init__(self, objects: Iterable[Found]) -> None:
        self.made: list[Found] = []
        self.missing: list[str] = []
        self._templates: dict[Key, ResourceClaimTemplate] = {}
        self._names: set[Key] = set()
        for each in objects:
            if isinstance(each, ResourceClaimTemplate):
                self._templates[_key(each)] = each
            elif isinstance(each, ResourceClaim):
                self._names.add(_key(each))

    def complete(self, pod: Pod) -> Pod:
        """Return a pod with its claims."""
        there = {status.name for status in pod.status.resource_claim_statuses}
        wanted = [
            each for each in pod.spec.resource_claims if each.resource_claim_template_name and each.name not in there
        ]
        statuses = [status for each in wanted if (status := self._make(pod, each)) is not None]
        if not statuses:
            return pod
        all_of_them = (*pod.status.resource_claim_statuses, *statuses)
        changed = structs.replace(pod.status, resource_claim_statuses=all_of_them)
        return Pod(PodObject(pod.metadata, pod.spec, changed))

    def _make(self, pod: Pod, entry: PodResourceClaim) -> ClaimStatus | None:
        template = self._templates.get((pod.namespace, entry.resource_claim_template_name or ""))
        if template is None:
            name = f"{pod.namespace}/{entry.resource_claim_template_name}"
            self.missing.append(f"pod {pod.key} has no claim {entry.name}: its template {name} is not in the files")
            return None
        name = self._free_name(pod.namespace, f"{pod.name}-{entry.name}")
        metadata = ClaimMetadata(
            name=name,
            namespace=pod.namespace,
            uid=f"{ResourceClaim.api.name}/{pod.namespace}/{name}",
            labels=template.spec.metadata.labels,
            annotations={**template.spec.metadata.annotations, ENTRY: entry.name},
            owner_references=(OwnerReference("v1", "Pod", pod.name, pod.uid, controller=True),),
        )
        self.made.append(ResourceClaim(metadata, template.spec.spec))
        return ClaimStatus(entry.name, name)

    def _free_name(self, namespace: str, wanted: str) -> str:
        name, number = wanted[:LONGEST], 1
        while (namespace, name) in self._names:
            number += 1
            name = f"{wanted[: LONGEST - 10]}-{number}"
        self._names.add((namespace, name))
        return name


def free_claims(pod: Pod, claims: Iterable[ResourceClaim], intake: ObjectIntake) -> None:
    """Free the claims of a pod that is gone: its own are deleted, and those without other consumers lose devices."""
    for claim in claims:
        owner = claim.metadata.controller
        if owner is not None and owner.uid == pod.uid:
            intake.deleted(claim)
        elif any(each.uid == pod.uid for each in claim.status.reserved_for):
            left = tuple(each for each in claim.status.reserved_for if each.uid != pod.uid)
            status = structs.replace(claim.status, reserved_for=left) if left else ResourceClaimStatus()
            intake.updated(claim, structs.replace(claim, status=status))


def _key(found: KubeObject) -> Key:
    return found.metadata.namespace, found.metadata.name
