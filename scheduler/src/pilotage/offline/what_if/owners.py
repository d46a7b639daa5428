"""The owners of pods, under whose names an answer counts them."""

from pilotage.model.kubelet_rejection import MIRROR
from pilotage.model.pod import Pod

TEMPLATE_HASH = "pod-template-hash"
HASH = "what-if"  # of new pods of Deployments


def owner_of(pod: Pod) -> str:
    """Return kind, namespace and name of a pod's owner; of the pod itself if it has none."""
    owner = pod.metadata.controller
    if owner is None:
        return f"Pod {pod.key}"
    suffix = f"-{pod.labels.get(TEMPLATE_HASH, '')}"
    if owner.kind == "ReplicaSet" and suffix != "-" and owner.name.endswith(suffix):
        return f"Deployment {pod.namespace}/{owner.name.removesuffix(suffix)}"
    return f"{owner.kind} {pod.namespace}/{owner.name}"


def is_of_its_node(pod: Pod) -> bool:
    """Return whether a pod is tied to its node: a DaemonSet's, or a mirror pod."""
    owner = pod.metadata.controller
    return MIRROR in pod.annotations or (owner is not None and owner.kind in ("DaemonSet", "Node"))


def is_made_again(pod: Pod) -> bool:
    """Return whether a controller replaces a pod that is gone."""
    return pod.metadata.controller is not None
