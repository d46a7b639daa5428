"""Fingerprints of the pods on a node: how an agent's report identifies the pods that it accounts for."""

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
REMEMBERED: Final = 1 << 16  # pods; a pod is hashed again whenever its node is looked at


def fingerprint(pods: Iterable[tuple[str, str]]) -> str:
    """Return the fingerprint of pods, each a namespace and a name, in whatever order they come."""
    hashes = sorted(pod_hash(namespace, name) for namespace, name in pods)
    return f"{PREFIX}{xxh64(pack(f'<{len(hashes)}Q', *hashes)):016x}"


@lru_cache(maxsize=REMEMBERED)
def pod_hash(namespace: str, name: str) -> int:
    """Return the hash of one pod."""
    return xxh64(name.encode(), xxh64(namespace.encode()))


def published_fingerprint(topology: NodeResourceTopology) -> str:
    """Return the fingerprint of the pods that a report accounts for, or "" if it does not say."""
    found = attribute(topology, ATTRIBUTE)
    return found or topology.metadata.annotations.get(ANNOTATION, "")


def attribute(topology: NodeResourceTopology, name: str) -> str:
    """Return an attribute of a whole report, or ""."""
    return next((each.value for each in topology.attributes if each.name == name), "")
