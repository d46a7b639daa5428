"""Builders for tests, both ours and those of plugin authors."""

from pilotage.testing.cluster import FakeCluster
from pilotage.testing.handle import FakeApi, FakeEvents, Write, handle_of
from pilotage.testing.manifests import Manifest, node_manifest, pod_manifest
from pilotage.testing.objects import decode_node, decode_pod, make_node, make_pod
from pilotage.testing.plugins import filter_all, raw_scores, reason_of, score_all, verdicts_of
from pilotage.testing.scheduler import FakeScheduler, plugin_set_of

__all__ = [
    "FakeApi",
    "FakeCluster",
    "FakeEvents",
    "FakeScheduler",
    "Manifest",
    "Write",
    "decode_node",
    "decode_pod",
    "filter_all",
    "handle_of",
    "make_node",
    "make_pod",
    "node_manifest",
    "plugin_set_of",
    "pod_manifest",
    "raw_scores",
    "reason_of",
    "score_all",
    "verdicts_of",
]
