"""One-line builders of pods and nodes as plugins see them."""

from collections.abc import Iterable
from itertools import count
from typing import Any

import msgspec

from pilotage.model.node import Node, NodeObject
from pilotage.model.pod import Pod, PodObject
from pilotage.testing.manifests import Manifest, node_manifest, pod_manifest

_numbers = count(1)


def make_pod(
    name: str = "pod",
    *,
    uid: str | None = None,
    metadata: Manifest | None = None,
    status: Manifest | None = None,
    **fields: Any,
) -> Pod:
    """Return a pod; the fields are those of `pod_manifest`, and `priority` is a number."""
    priority = fields.pop("priority", None)
    manifest = pod_manifest(name, **fields)
    manifest["metadata"]["uid"] = uid or f"{manifest['metadata']['namespace']}/{name}/{next(_numbers)}"
    manifest["metadata"] |= metadata or {}
    manifest["status"] = status or {}
    if priority is not None:
        manifest["spec"]["priority"] = priority
    return decode_pod(manifest)


def make_node(
    name: str = "node", *, images: Iterable[tuple[str, int]] = (), declared_features: Iterable[str] = (), **fields: Any
) -> Node:
    """Return a node; the fields are those of `node_manifest`, an image is a name and a size."""
    manifest = node_manifest(name, **{"fake": False, **fields})
    manifest["status"]["images"] = [{"names": [image], "sizeBytes": size} for image, size in images]
    manifest["status"]["declaredFeatures"] = list(declared_features)
    return decode_node(manifest)


def decode_pod(manifest: Manifest) -> Pod:
    """Return the pod of a manifest."""
    return Pod(msgspec.convert(manifest, PodObject))


def decode_node(manifest: Manifest) -> Node:
    """Return the node of a manifest."""
    return Node(msgspec.convert(manifest, NodeObject))
