"""Fingerprints of the pods on a node, which identify the pods that an agent's report accounts for."""

from collections.abc import Iterable
from functools import lru_cache
from struct import pack
from typing import Final

from pilotage.kinds.node_resource_topology import NodeResourceTopology
from pilotage.plugins.topology.node_resource_topology_match.xxh64 import xxh64

PREFIX: Final = "pfp0v001"
ATTRIBUTE: Final = "nodeTopologyPodsFingerprint"
METHOD_ATTRIBUTE: Final = "nodeTopologyPodsFingerprintMethod"
ANNOTATION: Final = "topology.node.k8s.io/fingerprint"
WITH_EXCLUSIVE_RESOURCES: Final = "with-exclusive-resources"
REMEMBERED: Final = 1 << 16  # pods; without the cache, each check of a node would hash its pods again


def fingerprint(pods: Iterable[tuple[str, str]]) -> str:
    """Return the fingerprint of pods, given by namespace and name, independent of their order."""
    hashes = sorted(pod_hash(namespace, name) for namespace, name in pods)
    return f"{PREFIX}{xxh64(pack(f'<{len(hashes)}Q', *hashes)):016x}"


@lru_cache(maxsize=REMEMBERED)
def pod_hash(namespace: str, name: str) -> int:
    """Return the hash of one pod."""
    return xxh64(name.encode(), xxh64(namespace.encode()))


def published_fingerprint(topology: NodeResourceTopology) -> str:
    """Return the fingerprint of the pods that a report accounts for, or ""."""
    found = attribute(topology, ATTRIBUTE)
    return found or topology.metadata.annotations.get(ANNOTATION, "")


def attribute(topology: NodeResourceTopology, name: str) -> str:
    """Return an attribute of a whole report, or ""."""
    return next((each.value for each in topology.attributes if each.name == name), "")
