"""One-line builders of elastic quotas and namespaces, for tests."""

from collections.abc import Mapping

import msgspec

from pilotage.kinds.elastic_quota import PRIORITY_CLASSES, ElasticQuota
from pilotage.kinds.workloads import Namespace
from pilotage.testing.manifests import Manifest

Bounds = Mapping[str, str | int | float]


def make_quota(
    namespace: str,
    least: Bounds | None = None,
    most: Bounds | None = None,
    *,
    name: str = "quota",
    selector: Manifest | None = None,
    made: str | None = None,
    classes: str | None = None,
) -> ElasticQuota:
    """Return a quota with the bounds `min` and `max`, its creation time, namespace selector and priority classes."""
    metadata: Manifest = {"name": name, "namespace": namespace, "uid": f"{namespace}/{name}", "creationTimestamp": made}
    if classes is not None:
        metadata["annotations"] = {PRIORITY_CLASSES: classes}
    spec = {"min": least, "max": most, "namespaceSelector": selector}
    return msgspec.convert({"metadata": metadata, "spec": spec}, ElasticQuota)


def make_namespace(name: str, **labels: str) -> Namespace:
    """Return a namespace."""
    return msgspec.convert({"metadata": {"name": name, "labels": labels}}, Namespace)
