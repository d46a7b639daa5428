"""Workloads and other objects that decisions depend on."""

from msgspec import Struct

from pilotage.kinds.kube_object import KubeObject
from pilotage.model.selectors import LabelSelector


class Namespace(KubeObject, group="", version="v1", plural="namespaces", scope="Cluster", in_kubernetes=True):
    """A namespace; pod affinity can select it by its labels."""


class ExactSelectorSpec(Struct, frozen=True, gc=False, rename="camel"):
    """A selector of exact labels; None matches nothing."""

    selector: dict[str, str] | None = None


class Service(KubeObject, group="", version="v1", plural="services", in_kubernetes=True, wakes=False):
    """A service, whose pods are spread by default."""

    spec: ExactSelectorSpec = ExactSelectorSpec()


class ReplicationController(
    KubeObject, group="", version="v1", plural="replicationcontrollers", in_kubernetes=True, wakes=False
):
    """A replication controller, whose pods are spread by default."""

    spec: ExactSelectorSpec = ExactSelectorSpec()


class LabelSelectorSpec(Struct, frozen=True, gc=False, rename="camel"):
    """A selector of labels."""

    selector: LabelSelector | None = None


class ReplicaSet(KubeObject, group="apps", version="v1", plural="replicasets", in_kubernetes=True, wakes=False):
    """A replica set, whose pods are spread by default."""

    spec: LabelSelectorSpec = LabelSelectorSpec()


class StatefulSet(KubeObject, group="apps", version="v1", plural="statefulsets", in_kubernetes=True, wakes=False):
    """A stateful set, whose pods are spread by default."""

    spec: LabelSelectorSpec = LabelSelectorSpec()


class DisruptionStatus(Struct, frozen=True, gc=False, rename="camel"):
    """The number of pods that may still be disrupted."""

    disruptions_allowed: int = 0
    disrupted_pods: dict[str, str] = {}


class PodDisruptionBudget(
    KubeObject, group="policy", version="v1", plural="poddisruptionbudgets", in_kubernetes=True, wakes=False
):
    """A limit on disruptions of selected pods."""

    spec: LabelSelectorSpec = LabelSelectorSpec()
    status: DisruptionStatus = DisruptionStatus()


class PriorityClass(
    KubeObject, group="scheduling.k8s.io", version="v1", plural="priorityclasses", scope="Cluster", in_kubernetes=True
):
    """A named priority."""

    value: int = 0
    global_default: bool = False
    preemption_policy: str = ""
