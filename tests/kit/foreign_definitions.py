"""Definitions of what others bring to a cluster and our plugins read, as much of them as is needed."""

from typing import Any


def _definition(group: str, version: str, kind: str, plural: str, scope: str, fields: dict[str, Any]) -> dict[str, Any]:
    schema = {"openAPIV3Schema": {"type": "object", **fields}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{plural}.{group}",
            # Without it a group that ends in k8s.io is not served.
            "annotations": {"api-approved.kubernetes.io": "unapproved, for tests"},
        },
        "spec": {
            "group": group,
            "scope": scope,
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "versions": [{"name": version, "served": True, "storage": True, "schema": schema}],
        },
    }


# The Security Profiles Operator's.
SECCOMP_PROFILES = _definition(
    "security-profiles-operator.x-k8s.io",
    "v1beta1",
    "SeccompProfile",
    "seccompprofiles",
    "Namespaced",
    {"properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}},
)
# What metrics-server answers for; here it is kept like any other object.
NODE_METRICS = _definition(
    "metrics.k8s.io", "v1beta1", "NodeMetrics", "nodes", "Cluster", {"x-kubernetes-preserve-unknown-fields": True}
)
