"""The cluster as it would be with a remedy, for as long as one question takes.

The change is made in the cache itself and taken back before anybody else has a turn, as gangs do when they plan
evictions: so that the answer is that of the engine, and not of a model of it.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from pilotage.cache.cluster_cache import ClusterCache
from pilotage.framework.api.remedies import Difference
from pilotage.kinds.kube_object import KubeObject
from pilotage.model.node import Node


@contextmanager
def altered(cache: ClusterCache, difference: Difference) -> Iterator[None]:
    """Let nodes, objects and placed pods be as with a difference; whom it lets leave is for trials on single nodes."""
    with ExitStack() as undoing:
        for given in difference.objects:
            _put_object(cache, given, undoing)
        for node in difference.nodes:
            _put_node(cache, node, undoing)
        for pod in difference.arriving:
            cache.put_pod(pod)
            undoing.callback(cache.remove_pod, pod.uid)
        yield


def _put_object(cache: ClusterCache, given: KubeObject, undoing: ExitStack) -> None:
    before = cache.objects.put(given)
    if before is None:
        undoing.callback(cache.objects.drop, given)
    else:
        undoing.callback(cache.objects.put, before)


def _put_node(cache: ClusterCache, node: Node, undoing: ExitStack) -> None:
    before = cache.put_node(node)
    if before is None:
        undoing.callback(cache.remove_node, node.name)
    else:
        undoing.callback(cache.put_node, before)
