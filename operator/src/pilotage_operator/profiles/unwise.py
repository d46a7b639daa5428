"""Valid specs with likely mistakes: reported by the condition Warning."""

from collections.abc import Iterator

from pilotage.config.catalogue import ExtensionPoint
from pilotage.scheduler_profiles.judge import Verdict

NO_FILTERS, SHARED_NAME = "NoFilters", "SharedName"
DEFAULT_SCHEDULER = "default-scheduler"


def unwise(verdict: Verdict, kube_scheduler: str) -> Iterator[tuple[str, str]]:
    """Yield reason and message for each; `kube_scheduler` is the leader of kube-scheduler, if any."""
    filters = (ExtensionPoint.FILTER.value, ExtensionPoint.PRE_FILTER.value)
    if not any(verdict.points.get(point) for point in filters) and not any(
        extender.get("filterVerb") for extender in verdict.extenders
    ):
        yield (
            NO_FILTERS,
            "no plugin filters nodes: pods are also placed on nodes that are full, cordoned or tainted, where the "
            "kubelet may reject them; add NodeResourcesFit, TaintToleration and NodeUnschedulable, or "
            "set base: Kubernetes",
        )
    if verdict.scheduler_name == DEFAULT_SCHEDULER and kube_scheduler:
        yield (
            SHARED_NAME,
            f"kube-scheduler ({kube_scheduler}) also serves {DEFAULT_SCHEDULER}: both race for its pods, and neither "
            "sees what the other is about to place; stop kube-scheduler, or choose another spec.schedulerName",
        )
