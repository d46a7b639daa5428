"""Builders for tests: our own and those of plugin authors."""

from pilotage.testing.manifests import Manifest, node_manifest, pod_manifest

__all__ = ["Manifest", "node_manifest", "pod_manifest"]
