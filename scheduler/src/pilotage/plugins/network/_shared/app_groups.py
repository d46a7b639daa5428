"""Which application a pod is part of, and where its AppGroup is."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, TypeVar

from pydantic import AfterValidator, StrictStr

from pilotage.framework.api.objects import Objects
from pilotage.kinds.app_network import AppGroup, AppGroupSpec, NetworkTopology
from pilotage.model.pod import Pod

APP_GROUP = "appgroup.diktyo.x-k8s.io"  # the label of a pod with the name of its application
WORKLOAD = "appgroup.diktyo.x-k8s.io.workload"  # the label with the selector of its part
DEFAULT_NAMESPACES = ("default",)

# An argument of plugins; an empty list means the default, as in the original.
Namespaces = Annotated[tuple[StrictStr, ...], AfterValidator(lambda given: given or DEFAULT_NAMESPACES)]
NAMESPACES_HELP = "Where the objects of an application are looked up, in this order, after the namespace of the pod."

Found = TypeVar("Found", AppGroup, NetworkTopology)


def app_group_of(pod: Pod) -> str:
    """Return the name of the application that a pod says it is part of, or ""."""
    return pod.labels.get(APP_GROUP, "")


def workload_of(pod: Pod) -> str:
    """Return the selector of the part that a pod says it is, or ""."""
    return pod.labels.get(WORKLOAD, "")


def searched(namespace: str, namespaces: Iterable[str]) -> tuple[str, ...]:
    """Return where to look for the objects of a pod's application: its own namespace first."""
    return tuple(dict.fromkeys((namespace, *namespaces)))


def first_found(objects: Objects, kind: type[Found], name: str, where: Iterable[str]) -> Found | None:
    """Return the object of the first namespace that has it; None also if that one cannot be decoded."""
    for namespace in where:
        found = objects.get(kind, name, namespace)
        if found is not None or name in objects.troubles(kind, namespace):
            return found  # one of the same name elsewhere is another
    return None


def not_understood(
    objects: Objects, kind: type[AppGroup | NetworkTopology], name: str, where: Iterable[str]
) -> str | None:
    """Return what is wrong with an object that `first_found` does not return; None if it does not exist."""
    reasons = ((namespace, objects.troubles(kind, namespace).get(name)) for namespace in where)
    texts = (
        f'{kind.__name__} "{name}" in namespace {namespace} cannot be decoded: {reason}'
        for namespace, reason in reasons
        if reason is not None
    )
    return next(texts, None)


def limits_of(spec: AppGroupSpec, workload: str) -> dict[str, Counter[int]]:
    """Return the maximum costs to the dependencies of a part, by selector, each as often as listed."""
    limits: dict[str, Counter[int]] = {}
    for part in spec.workloads:
        if workload and part.workload.selector == workload:
            for dependency in part.dependencies:
                if selector := dependency.workload.selector:
                    limits.setdefault(selector, Counter())[dependency.max_network_cost] += 1
    return limits


class GroupMembers:
    """The placed pods of every application: how many of which part are on which node."""

    def __init__(self) -> None:
        # By application and namespace, because one name may stand for another application elsewhere.
        self._groups: dict[str, dict[str, Counter[tuple[str, str]]]] = {}

    def add(self, pod: Pod) -> None:
        """Add a pod, if it is part of an application."""
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
        """Return the members of applications of a name: by namespace, the number of each part on each node."""
        return self._groups.get(group, {})

    def nodes_of(self, group: str) -> Iterator[str]:
        """Yield the nodes with members, some of them more than once."""
        return (node for members in self.of(group).values() for _, node in members)
