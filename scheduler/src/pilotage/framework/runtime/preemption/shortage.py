"""The resources that a node lacks for a pod, from messages of NodeResourcesFit, and which pods still fit beside it."""

from collections.abc import Iterable, Sequence

from pilotage.framework.api.nodes import NodeInfo
from pilotage.framework.api.verdicts import Rejection
from pilotage.model.pod import Pod

FIT = "NodeResourcesFit"
TOO_MANY_PODS, INSUFFICIENT = "Too many pods", "Insufficient "
PODS = "a place among the pods"  # as a resource of which every pod uses one; not a valid resource name


def short_of(rejection: Rejection | None) -> tuple[str, ...]:
    """Return the resources that a node lacks; none if it was rejected for another reason.

    All other resources suffice or are not checked, so they do not matter for the choice of victims.
    """
    if rejection is None or rejection.plugin != FIT:
        return ()
    resources = tuple(resource_of(reason) for reason in rejection.reasons)
    return resources if all(resources) else ()


def resource_of(reason: str) -> str:
    """Return the resource that a reason names, or "" for another reason."""
    if reason == TOO_MANY_PODS:
        return PODS
    return reason.removeprefix(INSUFFICIENT) if reason.startswith(INSUFFICIENT) else ""


class Room:
    """The free amounts of a node's scarce resources with the pod on it."""

    def __init__(self, pod: Pod, info: NodeInfo, resources: Sequence[str], leaving: Iterable[Pod] = ()) -> None:
        requests = pod.requests
        self._left = {
            resource: info.node.allowed_pods - len(info.pods) - 1
            if resource == PODS
            else info.free(resource) - requests.get(resource, 0)
            for resource in resources
        }
        for other in leaving:
            self.release(other)

    def take(self, other: Pod) -> bool:
        """Reserve resources for another pod if they suffice."""
        usage, left = other.usage, self._left
        for resource, amount in left.items():
            if usage.get(resource, resource == PODS) > amount:
                return False
        for resource in left:
            left[resource] -= usage.get(resource, resource == PODS)
        return True

    def release(self, other: Pod) -> None:
        """Release the resources of a pod."""
        usage, left = other.usage, self._left
        for resource in left:
            left[resource] += usage.get(resource, resource == PODS)
