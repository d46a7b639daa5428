"""The kinds of objects that workloads create."""

from oracle.kinds import KINDS as OF_KUBERNETES
from oracle.kinds import Kind

DEFINITION = Kind("CustomResourceDefinition", "apiextensions.k8s.io/v1", "customresourcedefinitions", namespaced=False)
QUOTA = Kind("ElasticQuota", "scheduling.x-k8s.io/v1alpha1", "elasticquotas")
CLAIM_TEMPLATE = Kind("ResourceClaimTemplate", "resource.k8s.io/v1", "resourceclaimtemplates")
KINDS = OF_KUBERNETES | {kind.name: kind for kind in (DEFINITION, QUOTA, CLAIM_TEMPLATE)}
