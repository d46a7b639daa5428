"""One-line builders of gangs, for tests."""

from collections.abc import Mapping
from typing import Any

import msgspec

from pilotage.kinds.pod_groups import NativePodGroup, PodGroup
from pilotage.model.gangs import GROUP_LABEL
from pilotage.model.match_policies import MATCH_POLICY
from pilotage.model.pod import Pod
from pilotage.testing.objects import make_pod


def make_group(
    name: str = "gang",
    minimum: int = 2,
    *,
    namespace: str = "default",
    policy: str | None = None,
    status: Mapping[str, Any] | None = None,
    **spec: Any,
) -> PodGroup:
    """Return a PodGroup of scheduling.x-k8s.io."""
    metadata = {**_metadata(name, namespace, policy), "creationTimestamp": "2026-01-01T00:00:00Z"}
    document = {"metadata": metadata, "spec": {"minMember": minimum, **spec}, "status": status or {}}
    return msgspec.convert(document, PodGroup)


def make_native_group(
    name: str = "gang",
    minimum: int | None = 2,
    *,
    namespace: str = "default",
    policy: str | None = None,
    status: Mapping[str, Any] | None = None,
) -> NativePodGroup:
    """Return a PodGroup of scheduling.k8s.io; without a minimum its pods are independent."""
    gang = {"basic": {}} if minimum is None else {"gang": {"minCount": minimum}}
    metadata = _metadata(name, namespace, policy)
    document = {"metadata": metadata, "spec": {"schedulingPolicy": gang}, "status": status or {}}
    return msgspec.convert(document, NativePodGroup)


def _metadata(name: str, namespace: str, policy: str | None) -> dict[str, Any]:
    annotations = {} if policy is None else {MATCH_POLICY: policy}
    return {"name": name, "namespace": namespace, "annotations": annotations}


def make_member(name: str, gang: str = "gang", *, labels: dict[str, str] | None = None, **fields: Any) -> Pod:
    """Return a pod of a PodGroup."""
    return make_pod(name, labels={GROUP_LABEL: gang, **(labels or {})}, **fields)


def make_members(count: int, gang: str = "gang", **fields: Any) -> list[Pod]:
    """Return a number of equal pods of a PodGroup, named after it."""
    return [make_member(f"{gang}-{number}", gang, **fields) for number in range(count)]
