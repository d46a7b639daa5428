"""The event message for a pod that a kubelet has rejected."""

from collections.abc import Mapping
from dataclasses import dataclass

from pilotage.framework.api.nodes import NodeInfo
from pilotage.kinds.quota_accounting import quantity_text
from pilotage.model.kubelet_rejection import PODS, KubeletRejection
from pilotage.model.pod import Pod
from pilotage.scheduling.sharing.foreign_binds import MOMENT, Lately

JOB_ADVICE = "its Job counts this as a failure: raise backoffLimit while schedulers share nodes"
OLD_BIND = 30.0  # seconds: a kubelet that handles a pod this late was down, so the cause was not a race


@dataclass(frozen=True)
class KubeletReport:
    """The facts about a rejection."""

    pod: Pod
    node: str
    rejection: KubeletRejection
    free: int | None  # of the resource, in our cache
    age: float | None  # of the bind, in seconds
    foreign: Lately | None
    now: float

    @property
    def is_old(self) -> bool:
        """Return whether the kubelet was late, so that a race is not the likely cause."""
        return self.age is not None and self.age > OLD_BIND


def event_note(report: KubeletReport) -> str:
    """Return the note of the event."""
    parts = [_about(report)]
    if report.is_old:
        parts.append(f"it was bound {report.age:.0f} s ago")
    lately = report.foreign
    if lately is not None and report.now - lately.last <= 2 * MOMENT:
        pods = "a pod" if lately.pods == 1 else f"{lately.pods} pods"
        parts.append(f"{lately.scheduler} placed {pods} there in the last second")
    note = f"node {report.node} rejected the pod ({'; '.join(parts)})"
    owner = report.pod.metadata.controller
    return f"{note}; {JOB_ADVICE}" if owner is not None and owner.kind == "Job" else note


def _about(report: KubeletReport) -> str:
    rejection, resource = report.rejection, report.rejection.resource
    amounts = {"requested": rejection.requested, "free by its kubelet": rejection.free, "by our cache": report.free}
    if rejection.requested is None or rejection.free is None:
        return rejection.reason
    texts = [f"{quantity_text(resource, number)} {what}" for what, number in amounts.items() if number is not None]
    return f"{rejection.reason}: {', '.join(texts)}"


def free_by_cache(info: NodeInfo, believed: Mapping[str, int], resource: str) -> int | None:
    """Return how much of a resource is free on a node by our cache; None without a resource."""
    if not resource:
        return None
    if resource == PODS:
        return max(0, info.node.allowed_pods - len(info.pods))
    return max(0, info.free(resource) + believed.get(resource, 0))
