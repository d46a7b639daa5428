"""What a node is short of for a pod, by the messages of NodeResourcesFit, and what else fits beside the pod."""

from collections.abc import Iterable, Sequence

from pilotage.framework.api.nodes import NodeInfo
from pilotage.framework.api.verdicts import Rejection
from pilotage.model.pod import Pod

FIT = "NodeResourcesFit"
TOO_MANY_PODS, INSUFFICIENT = "Too many pods", "Insufficient "
PODS = "a place among the pods"  # as a resource, of which every pod takes one; no real one is called so


def short_of(rejection: Rejection | None) -> tuple[str, ...]:
    """Return the resources that a node has too little of; none if it was rejected for any other cause.

    There is enough of all others, or they are not checked: they do not matter, whichever pods leave.
    """
    if rejection is None or rejection.plugin != FIT:
        return ()
    resources = tuple(resource_of(reason) for reason in rejection.reasons)
    return resources if all(resources) else ()


def resource_of(reason: str) -> str:
    """Return the resource that a reason names, or "" if it is about something else."""
    if reason == TOO_MANY_PODS:
        return PODS
    return reason.removeprefix(INSUFFICIENT) if reason.startswith(INSUFFICIENT) else ""


class Room:
    """What is left on a node, of the resources that it was short of, once the pod is on it."""

    def __init__(self, pod: Pod, info: NodeInfo, resources: Sequence[str], leaving: Iterable[Pod] = ()) -> None:
        requests = pod.requests
        self._left = {
            resource: info.node.allowed_pods - len(info.pods) - 1
            if resource == PODS
            else info.free(resource) - requests.get(resource, 0)
            for resource in resources
        }
        for other in leaving:
            self.give_back(other)

    def take(self, other: Pod) -> bool:
        """Reserve room for another pod, too, if there is enough."""
        usage, left = other.usage, self._left
        for resource, amount in left.items():
            if usage.get(resource, resource == PODS) > amount:
                return False
        for resource in left:
            left[resource] -= usage.get(resource, resource == PODS)
        return True

    def give_back(self, other: Pod) -> None:
        """Release the room of a pod that is gone."""
        usage, left = other.usage, self._left
        for resource in left:
            left[resource] += usage.get(resource, resource == PODS)
