"""How much of the cluster is guaranteed to the pods of a namespace, and how much they may use at most."""

from msgspec import Struct

from pilotage.kinds.kube_object import KubeObject
from pilotage.model.pod_spec import Amounts
from pilotage.model.selectors import LabelSelector

# Beyond the original: a quota for pods of these classes alone, with commas between them. It is no field of the spec
# because the original's definition drops fields that it does not know: the quota would be one for all pods.
PRIORITY_CLASSES = "quota.pilotage.dev/priority-classes"


class ElasticQuotaSpec(Struct, frozen=True, gc=False, rename="camel"):
    """The bounds; None where a quota says nothing."""

    min: Amounts | None = None
    max: Amounts | None = None
    # Beyond the original: one quota for all namespaces with these labels, besides its own.
    namespace_selector: LabelSelector | None = None


class ElasticQuota(KubeObject, group="scheduling.x-k8s.io", version="v1alpha1", plural="elasticquotas"):
    """A quota of scheduling.x-k8s.io."""

    spec: ElasticQuotaSpec = ElasticQuotaSpec()

    @property
    def priority_classes(self) -> str | None:
        """Return the priority classes that it applies to, as written; None for all pods."""
        return self.metadata.annotations.get(PRIORITY_CLASSES)

    def says_the_same_as(self, other: "ElasticQuota") -> bool:
        """Return whether the two differ in nothing but their status, which changes with every pod and is not read."""
        same = self.metadata.uid == other.metadata.uid and self.spec == other.spec
        return same and self.priority_classes == other.priority_classes
