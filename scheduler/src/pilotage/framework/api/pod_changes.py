"""A changed waiting pod, with the patch that changes it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from pilotage.framework.api.remedies import Difference, Target
from pilotage.model.pod import Pod, PodObject

TEMPLATE_HASH = "pod-template-hash"
# Kinds whose pod template can be changed; that of a Job cannot.
WITH_TEMPLATE = ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "ReplicationController")


@dataclass(frozen=True, slots=True)
class PodChange:
    """The changed pod, and the patch for it or for its owner."""

    target: Target
    patch: Mapping[str, Any]
    difference: Difference


def with_spec(pod: Pod, patch: Mapping[str, Any], **fields: Any) -> PodChange:
    """Change fields of a pod's spec; the patch is for the template of its owner, or for the pod itself."""
    spec = msgspec.structs.replace(pod.spec, **fields)
    changed = Pod(PodObject(pod.metadata, spec, pod.status))
    target, nested = _addressed(pod, {"spec": patch})
    return PodChange(target, nested, Difference(pod=changed))


def plain(value: Any) -> Any:
    """Return a part of a spec as JSON, without empty fields."""
    return _without_defaults(msgspec.to_builtins(value))


def _addressed(pod: Pod, patch: Mapping[str, Any]) -> tuple[Target, Mapping[str, Any]]:
    owner = pod.metadata.controller
    if owner is None or owner.kind not in WITH_TEMPLATE:
        return Target("Pod", pod.name, pod.namespace), patch
    template = pod.labels.get(TEMPLATE_HASH)
    name, kind = owner.name, owner.kind
    if kind == "ReplicaSet" and template and name.endswith(f"-{template}"):
        kind, name = "Deployment", name.removesuffix(f"-{template}")
    return Target(kind, name, pod.namespace), {"spec": {"template": patch}}


def _without_defaults(value: Any) -> Any:
    if isinstance(value, dict):
        found = {key: _without_defaults(each) for key, each in value.items()}
        return {key: each for key, each in found.items() if each is not None and each != "" and each != []}
    if isinstance(value, list | tuple):
        return [_without_defaults(each) for each in value]
    return value
