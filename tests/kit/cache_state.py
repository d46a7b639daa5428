"""Everything that a cache knows about a cluster, without the versions that grow with each change."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from pilotage.cache.cluster_cache import ClusterCache
from pilotage.framework.api.nodes import ABSENT, Ids, NodeInfo

INFO = ("nonzero_cpu", "nonzero_memory", "pods", "port_numbers", "requested", "slot", "used_ports")


def full_state(cache: ClusterCache) -> dict[str, Any]:
    """Return the state as values that can be compared; objects stand for themselves."""
    return {
        "nodes": [_node(info) for info in cache.columns.infos],
        "columns": _columns(cache),
        "placed": _placed(cache),
        "pods": {uid: id(pod) for uid, pod in cache._pods.items()},
        "hidden": {uid: id(pod) for uid, pod in cache._hidden.items()},
        "homeless": {name: sorted(pods) for name, pods in cache._homeless.items()},
        "assumed": set(cache._assumed),
        "beliefs": {name: dict(cache.believed(name)) for name in cache._beliefs},
        "holds": dict(cache.holds.active),
        "objects": _objects(cache),
        "troubles": sorted(map(str, cache.objects.all_troubles())),
        "followers": [id(each) for each in cache._followers],
    }


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return which parts of two states differ, and how."""
    return [f"{name}: {before[name]} -> {after[name]}" for name in before if before[name] != after[name]]


def _node(info: NodeInfo) -> dict[str, Any]:
    found = {name: getattr(info, name) for name in INFO}
    return {
        **found,
        "pods": sorted((uid, id(pod)) for uid, pod in info.pods.items()),
        "info": id(info),
        "node": info.node,
    }


def _columns(cache: ClusterCache) -> dict[str, Any]:
    columns, count = cache.columns, len(cache.columns.infos)
    taints = columns.taint_sets()
    found: dict[str, Any] = {
        "slots": dict(columns._slots),
        "offered": {name: number for name, number in columns._offered.items() if number},
        "taints": [taints[each] for each in columns.taint_set_ids[:count].tolist()],
        "huge": sorted(columns.huge_slots()),
        "images": {name: sorted(holders) for name, holders in columns._images._holders.items()},
        "label holders": {key: number for key, number in columns._labels._holders.items() if number},
    }
    for name in ("pod_count", "allowed_pods", "nonzero_cpu", "nonzero_memory", "unschedulable"):
        found[name] = getattr(columns, name)[:count].tolist()
    for name in columns.resources():
        found[f"allocatable {name}"] = columns.allocatable(name)[:count].tolist()
        found[f"requested {name}"] = columns.requested(name)[:count].tolist()
    for key in found["label holders"]:
        values = columns.label_values(key)
        found[f"label {key}"] = [
            None if each == ABSENT else values[each] for each in columns.label_ids(key)[:count].tolist()
        ]
    return found


def _placed(cache: ClusterCache) -> dict[str, Any]:
    placed, count = cache.placed, len(cache.columns.infos)
    return {
        "kinds": {str(key): _by_name(kind.nodes) for key, kind in placed._kinds.items()},
        # Each question leaves a query; those that are there must be right.
        "wrong queries": [str(known.query) for known in placed._queries.values() if not _is_right(cache, known)],
        "terms": [
            {str(term): _places(each.places(count)) for term, each in terms.items()} for terms in placed._carried
        ],
        "claims": {claim: _by_name(users) for claim, users in placed._claims.items()},
    }


def _is_right(cache: ClusterCache, query: Any) -> bool:
    counted = np.zeros(len(cache.columns.infos), np.int32)
    for kind in cache.placed._kinds.values():
        for info, number in kind.nodes.items() if query.matches(kind) else ():
            counted[info.slot] += number
    return bool((counted == query.column.data[: len(counted)]).all())


def _by_name(numbers: Mapping[NodeInfo, int]) -> dict[str, int]:
    return {info.name: number for info, number in numbers.items()}


def _places(places: Ids | Iterable[tuple[int, int]]) -> dict[int, int]:
    if isinstance(places, np.ndarray):
        return {slot: number for slot, number in enumerate(places.tolist()) if number}
    return dict(places)


def _objects(cache: ClusterCache) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {kind.__name__: _ids(cache.objects.all(kind)) for kind in cache.objects.kinds()}
    return {kind: objects for kind, objects in found.items() if objects}


def _ids(objects: Iterable[Any]) -> dict[str, int]:
    return {_key(each): id(each) for each in objects}


def _key(found: Any) -> str:
    return f"{found.metadata.namespace}/{found.metadata.name}"
