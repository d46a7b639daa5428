"""Watch events for the cache alone, for programs that do not schedule."""

import logging

from pilotage.cache.cluster_cache import ClusterCache
from pilotage.cluster.watch.known_objects import key_of
from pilotage.cluster.watch.watch_events import ObjectIdentity
from pilotage.kinds.kube_object import KubeObject
from pilotage.model.node import Node
from pilotage.model.pod import Pod

log = logging.getLogger(__name__)


class PodsIntoCache:
    """Adds the pods that have a node."""

    def __init__(self, cache: ClusterCache) -> None:
        self._cache = cache

    def added(self, new: Pod) -> None:
        """Add a pod."""
        if new.node_name:
            self._cache.put_pod(new)

    def updated(self, old: Pod, new: Pod) -> None:
        """Update a pod."""
        self.added(new)

    def deleted(self, last: Pod) -> None:
        """Remove a pod."""
        self._cache.remove_pod(last.uid)

    def undecodable(self, metadata: ObjectIdentity, reason: str) -> None:
        """Ignore a pod that cannot be decoded."""
        log.error("pod %s/%s cannot be decoded: %s", metadata.namespace, metadata.name, reason)

    def vanished(self, metadata: ObjectIdentity) -> None:
        """Do nothing: it was not added."""


class NodesIntoCache:
    """Keeps the nodes."""

    def __init__(self, cache: ClusterCache) -> None:
        self._cache = cache

    def added(self, new: Node) -> None:
        """Add a node."""
        self._cache.put_node(new)

    def updated(self, old: Node, new: Node) -> None:
        """Update a node."""
        self._cache.put_node(new)

    def deleted(self, last: Node) -> None:
        """Remove a node."""
        self._cache.remove_node(last.name)

    def undecodable(self, metadata: ObjectIdentity, reason: str) -> None:
        """Ignore a node that cannot be decoded."""
        log.error("node %s cannot be decoded: %s", metadata.name, reason)

    def vanished(self, metadata: ObjectIdentity) -> None:
        """Do nothing: it was not added."""


class ObjectsIntoCache:
    """Keeps all other objects that plugins read."""

    def __init__(self, cache: ClusterCache) -> None:
        self._objects = cache.objects

    def added(self, new: KubeObject) -> None:
        """Add an object."""
        self._objects.put(new)

    def updated(self, old: KubeObject, new: KubeObject) -> None:
        """Update an object."""
        self._objects.put(new)

    def deleted(self, last: KubeObject) -> None:
        """Remove an object."""
        self._objects.drop(last)

    def undecodable(self, metadata: ObjectIdentity, reason: str) -> None:
        """Record the problem of an object."""
        log.error("%s %s cannot be decoded: %s", metadata.resource, key_of(metadata), reason)
        self._objects.note_trouble(metadata.shape, metadata.name, metadata.namespace, reason)

    def vanished(self, metadata: ObjectIdentity) -> None:
        """Remove an object that could not be decoded."""
        self._objects.forget_trouble(metadata.shape, metadata.name, metadata.namespace)
