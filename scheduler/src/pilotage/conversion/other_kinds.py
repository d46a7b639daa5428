"""Hints about manifests that are not scheduler configurations."""

from collections.abc import Mapping
from typing import Any

from pilotage.kinds.app_network import NetworkTopology
from pilotage.kinds.elastic_quota import ElasticQuota
from pilotage.kinds.every import OURS
from pilotage.kinds.pod_groups import PodGroup

_APPLY = "apply it as it is"
_OLD_GROUP = "scheduling.sigs.k8s.io"
# Kinds of CRDs that plugins read, by group and name.
_READ_BY_PLUGINS = {(kind.api.group, kind.api.name): kind.api for kind in OURS if not kind.api.in_kubernetes}
_RENAMED = {kind.api.name: kind.api for kind in (ElasticQuota, PodGroup)}
_OLD_COSTS = (
    "of an older shape, which a cluster refuses: spec.configmapName, and spec.weights[].topologyList[].originList[]."
    "costList[] (docs/plugins/network-overhead.md)"
)


def said_about(manifest: Mapping[str, Any]) -> str:
    """Return what kind of manifest it is, and what to do with it."""
    kind, version = str(manifest.get("kind", "")), str(manifest.get("apiVersion", ""))
    group = version.rpartition("/")[0]
    title = f"{_article(kind)} {kind}"
    if _READ_BY_PLUGINS.get((group, kind)) is NetworkTopology.api and _has_old_costs(manifest):
        return f"{title} {_OLD_COSTS}"
    if (group, kind) in _READ_BY_PLUGINS:
        return f"{title}: {_APPLY}"
    if kind in _RENAMED and group == _OLD_GROUP:
        return f"{title} of a removed group: change it to apiVersion: {_RENAMED[kind].api_version}, and apply it"
    if kind == "SchedulerProfile":
        return f"{title} already: {_APPLY}"
    if kind == "Policy":
        return f"{title}, which kube-scheduler has not read since v1.23: write a KubeSchedulerConfiguration instead"
    if kind == "ConfigMap":
        return f"{title} without a KubeSchedulerConfiguration in its data"
    return f"{title}, which is not a scheduler configuration" if kind else "not a scheduler configuration"


def _article(kind: str) -> str:
    return "an" if kind[:1] in "AEIO" else "a"


def _has_old_costs(manifest: Mapping[str, Any]) -> bool:
    spec = manifest.get("spec")
    if not isinstance(spec, Mapping):
        return False
    weights = spec.get("weights")
    listed = [each for each in weights if isinstance(each, Mapping)] if isinstance(weights, list) else []
    return "configMapName" in spec or any("costList" in each for each in listed)
