"""Elastic quotas: the guaranteed and the maximum usage of the pods of a namespace."""

from msgspec import Struct

from pilotage.kinds.kube_object import KubeObject
from pilotage.model.pod_spec import Amounts
from pilotage.model.selectors import LabelSelector

# An extension of scheduler-plugins' API: the quota is only for pods of these classes, separated by commas. It is not a
# field, because the original CRD would drop it, and the quota would apply to all pods.
PRIORITY_CLASSES = "quota.pilotage.dev/priority-classes"


class ElasticQuotaSpec(Struct, frozen=True, gc=False, rename="camel"):
    """The bounds; None if not specified."""

    min: Amounts | None = None
    max: Amounts | None = None
    # An extension: the quota also covers all namespaces with these labels.
    namespace_selector: LabelSelector | None = None


class ElasticQuota(KubeObject, group="scheduling.x-k8s.io", version="v1alpha1", plural="elasticquotas"):
    """A quota of scheduling.x-k8s.io."""

    spec: ElasticQuotaSpec = ElasticQuotaSpec()

    @property
    def priority_classes(self) -> str | None:
        """Return the priority classes that it applies to, as written; None for all pods."""
        return self.metadata.annotations.get(PRIORITY_CLASSES)

    def says_the_same_as(self, other: "ElasticQuota") -> bool:
        """Return whether the two differ at most in their status, which changes with every pod and is not read."""
        same = self.metadata.uid == other.metadata.uid and self.spec == other.spec
        return same and self.priority_classes == other.priority_classes
