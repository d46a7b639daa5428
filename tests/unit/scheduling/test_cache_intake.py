"""Who only looks at a cluster is told the same about objects that cannot be decoded."""

from pilotage.cache.cluster_cache import ClusterCache
from pilotage.cluster.watch.watch_events import ObjectIdentity
from pilotage.kinds.app_network import AppGroup
from pilotage.scheduling.cache_intake import ObjectsIntoCache

BROKEN = ObjectIdentity(name="shop", namespace="x", resource=str(AppGroup.api), shape=AppGroup)


def test_an_object_that_cannot_be_understood_is_remembered_until_it_is_gone() -> None:
    cache = ClusterCache()
    intake = ObjectsIntoCache(cache)
    intake.undecodable(BROKEN, "why")
    assert cache.objects.troubles(AppGroup, "x") == {"shop": "why"}
    intake.vanished(BROKEN)
    assert cache.objects.troubles(AppGroup, "x") == {}
