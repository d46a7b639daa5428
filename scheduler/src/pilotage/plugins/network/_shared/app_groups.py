"""The AppGroups of pods."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, TypeVar

from pydantic import AfterValidator, StrictStr

from pilotage.framework.api.objects import Objects
from pilotage.kinds.app_network import AppGroup, AppGroupSpec, NetworkTopology
from pilotage.model.pod import Pod

APP_GROUP = "appgroup.diktyo.x-k8s.io"  # the label with the name of a pod's AppGroup
WORKLOAD = "appgroup.diktyo.x-k8s.io.workload"  # the label with the selector of its workload
DEFAULT_NAMESPACES = ("default",)

# An argument of plugins; an empty list means the default, as in the original.
Namespaces = Annotated[tuple[StrictStr, ...], AfterValidator(lambda given: given or DEFAULT_NAMESPACES)]
NAMESPACES_HELP = "The namespaces in which AppGroups and NetworkTopologies are looked up, after that of the pod."

Found = TypeVar("Found", AppGroup, NetworkTopology)


def app_group_of(pod: Pod) -> str:
    """Return the name of the AppGroup in a pod's labels, or ""."""
    return pod.labels.get(APP_GROUP, "")


def workload_of(pod: Pod) -> str:
    """Return the workload selector in a pod's labels, or ""."""
    return pod.labels.get(WORKLOAD, "")


def searched(namespace: str, namespaces: Iterable[str]) -> tuple[str, ...]:
    """Return the namespaces to search for a pod's objects: its own namespace first."""
    return tuple(dict.fromkeys((namespace, *namespaces)))


def first_found(objects: Objects, kind: type[Found], name: str, where: Iterable[str]) -> Found | None:
    """Return the object from the first namespace that has it; None also if that object cannot be decoded."""
    for namespace in where:
        found = objects.get(kind, name, namespace)
        if found is not None or name in objects.troubles(kind, namespace):
            return found  # objects of the same name in later namespaces are different ones
    return None


def not_understood(
    objects: Objects, kind: type[AppGroup | NetworkTopology], name: str, where: Iterable[str]
) -> str | None:
    """Return the decoding error of an object that `first_found` does not return; None if it does not exist."""
    reasons = ((namespace, objects.troubles(kind, namespace).get(name)) for namespace in where)
    texts = (
        f'{kind.__name__} "{name}" in namespace {namespace} cannot be decoded: {reason}'
        for namespace, reason in reasons
        if reason is not None
    )
    return next(texts, None)


def limits_of(spec: AppGroupSpec, workload: str) -> dict[str, Counter[int]]:
    """Return the maximum costs to the dependencies of a workload, by selector, with duplicates."""
    limits: dict[str, Counter[int]] = {}
    for part in spec.workloads:
        if workload and part.workload.selector == workload:
            for dependency in part.dependencies:
                if selector := dependency.workload.selector:
                    limits.setdefault(selector, Counter())[dependency.max_network_cost] += 1
    return limits


class GroupMembers:
    """Counts of the placed pods of every AppGroup, by workload and node."""

    def __init__(self) -> None:
        # By AppGroup and namespace, because the name may mean a different one in another namespace.
        self._groups: dict[str, dict[str, Counter[tuple[str, str]]]] = {}

    def add(self, pod: Pod) -> None:
        """Add a pod, if it belongs to an AppGroup."""
        if group := app_group_of(pod):
            members = self._groups.setdefault(group, {}).setdefault(pod.namespace, Counter())
            members[workload_of(pod), pod.node_name] += 1

    def remove(self, pod: Pod) -> None:
        """Remove a pod that was added."""
        group, member = app_group_of(pod), (workload_of(pod), pod.node_name)
        namespaces = self._groups.get(group, {})
        members = namespaces.get(pod.namespace)
        if members is None or member not in members:
            return
        members[member] -= 1
        if not members[member]:
            del members[member]
        if not members:
            del namespaces[pod.namespace]
        if not namespaces:
            del self._groups[group]

    def of(self, group: str) -> Mapping[str, Mapping[tuple[str, str], int]]:
        """Return the members of AppGroups of a name: by namespace, the number of pods of each workload on each node."""
        return self._groups.get(group, {})

    def nodes_of(self, group: str) -> Iterator[str]:
        """Yield the nodes with members, possibly with duplicates."""
        return (node for members in self.of(group).values() for _, node in members)
