"""Pods whose waiting proves nothing, because the auditor does not evaluate everything about them."""

from collections.abc import Iterator

from auditor.demand import Manifest

# Volumes that every node can provide; any other kind may tie a pod to a place.
EVERYWHERE = frozenset(
    ("configMap", "downwardAPI", "emptyDir", "hostPath", "image", "nfs", "projected", "secret", "name")
)
GROUP_LABELS = (
    "scheduling.x-k8s.io/pod-group",
    "pod-group.scheduling.sigs.k8s.io",
    "pod-group.pilotage.dev/name",
)
GROUP_FIELDS = ("workloadRef", "schedulingGroup", "podGroup", "podGroupName", "workload")


def reason_not_to_judge(meta: Manifest, spec: Manifest) -> str | None:
    """Return why this pod's waiting cannot be judged, or None."""
    return next(reasons(meta, spec), None)


def reasons(meta: Manifest, spec: Manifest) -> Iterator[str]:
    """Yield everything about the pod that the simple check does not look at."""
    affinity = spec.get("affinity") or {}
    for kind in ("podAffinity", "podAntiAffinity"):
        if (affinity.get(kind) or {}).get("requiredDuringSchedulingIgnoredDuringExecution"):
            yield kind
    if any(c.get("whenUnsatisfiable") == "DoNotSchedule" for c in spec.get("topologySpreadConstraints") or ()):
        yield "topologySpreadConstraints"
    if any(set(volume) - EVERYWHERE for volume in spec.get("volumes") or ()):
        yield "volumes"
    if spec.get("resourceClaims"):
        yield "resourceClaims"
    if any(label in (meta.get("labels") or {}) for label in GROUP_LABELS):
        yield "pod group"
    if any(spec.get(field) for field in GROUP_FIELDS):
        yield "pod group"
