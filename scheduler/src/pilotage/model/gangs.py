"""The gang of a pod: pods that start together or not at all, named in one of three ways."""

from typing import Final, NamedTuple

from pilotage.model.pod import Pod

# A PodGroup of scheduling.x-k8s.io, by its name.
GROUP_LABEL: Final = "scheduling.x-k8s.io/pod-group"
# A gang without any resource: its name, and how many pods it needs.
NAME_LABEL: Final = "pod-group.pilotage.dev/name"
MIN_LABEL: Final = "pod-group.pilotage.dev/min-available"

BY_GROUP: Final = "scheduling.x-k8s.io"
NATIVE: Final = "scheduling.k8s.io"
BY_LABELS: Final = "labels"


class GangName(NamedTuple):
    """A gang: the kind of its definition, its namespace and its name."""

    source: str
    namespace: str
    name: str

    def __str__(self) -> str:
        """Return namespace/name."""
        return f"{self.namespace}/{self.name}"


def gang_of(pod: Pod) -> GangName | None:
    """Return the gang that a pod names, whether or not it exists."""
    native = pod.spec.scheduling_group
    if native is not None and native.pod_group_name:
        return GangName(NATIVE, pod.namespace, native.pod_group_name)
    labels = pod.labels
    if not labels:
        return None
    if name := labels.get(GROUP_LABEL):
        return GangName(BY_GROUP, pod.namespace, name)
    if name := labels.get(NAME_LABEL):
        return GangName(BY_LABELS, pod.namespace, name)
    return None
