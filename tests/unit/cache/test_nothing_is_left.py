"""Pods that come and go leave nothing behind in the cache, whatever they are like."""

import gc
from types import FunctionType, ModuleType
from weakref import WeakSet

from pilotage.cache.cluster_cache import ClusterCache
from pilotage.framework.api.pods import PodQuery, TermKind
from pilotage.model.pod import Pod
from pilotage.testing import make_node, make_pod

CONTAINERS = (dict, list, set, frozenset, tuple, WeakSet)
SHARED = (type, ModuleType, FunctionType)


def one_of_a_kind(number: int) -> Pod:
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"job": f"{number}"}}}
    terms = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    return make_pod(
        f"pod-{number}",
        node=f"n{number % 3}",
        labels={"job": f"{number}", f"key-{number}": "x"},
        requests={"cpu": f"{number}m", f"example.com/r{number}": 1},
        host_ports=[number + 1],
        affinity={"podAffinity": terms, "podAntiAffinity": terms},
        spec={"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": f"claim-{number}"}}]},
    )


def reachable(root: object) -> int:
    """Return how much something holds on to: all entries of all that it reaches."""
    seen, left, entries = {id(root)}, [root], 0
    while left:
        each = left.pop()
        entries += len(each) if isinstance(each, CONTAINERS) else 0
        for other in gc.get_referents(each):
            if id(other) not in seen and not isinstance(other, SHARED):
                seen.add(id(other))
                left.append(other)
    return entries


def test_pods_of_all_kinds_come_and_go() -> None:
    cache = ClusterCache()
    for number in range(3):
        cache.put_node(make_node(f"n{number}", labels={"zone": f"z{number}"}))
    everybody = PodQuery(((None, ()),))

    def come_and_go(first: int, last: int) -> int:
        for number in range(first, last):
            pod = one_of_a_kind(number)
            cache.put_pod(pod)
            assert cache.placed.counts(everybody).sum() == 1
            assert cache.placed.terms_about(pod, TermKind.REQUIRED_ANTI_AFFINITY)
            assert cache.placed.claim_users("default", f"claim-{number}") == 1
            cache.remove_pod(pod.uid)
            assert cache.placed.claim_users("default", f"claim-{number}") == 0
        gc.collect()
        return reachable(cache)

    few = come_and_go(1000, 1020)
    assert come_and_go(2000, 2300) == few
