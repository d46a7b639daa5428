"""How much of a cluster is requested."""

from collections.abc import Iterable

from msgspec import Struct

from pilotage.cache.cluster_cache import ClusterCache
from pilotage.framework.api.nodes import Ints

UNITS = {"cpu": "m", "pods": ""}
BYTES = ("memory", "ephemeral-storage", "hugepages-")


class Use(Struct, frozen=True, rename="camel"):
    """How much of a resource is allocatable, and how much is requested."""

    allocatable: int
    requested: int
    unit: str = ""


def use_of(cache: ClusterCache) -> dict[str, Use]:
    """Return the sums over all nodes, for each resource."""
    columns, names = cache.columns, set[str]()
    for info in columns.infos:
        names.update(info.allocatable)
    count = len(columns.infos)
    found = {
        name: Use(_sum(columns.allocatable(name), count), _sum(columns.requested(name), count), _unit(name))
        for name in names
    }
    found["pods"] = Use(_sum(columns.allowed_pods, count), _sum(columns.pod_count, count))
    return {name: found[name] for name in _in_order(found)}


def _sum(column: Ints, count: int) -> int:
    return int(column[:count].sum())


def _in_order(resources: Iterable[str]) -> list[str]:
    first = ("cpu", "memory", "pods")
    return sorted(resources, key=lambda name: (first.index(name) if name in first else len(first), name))


def _unit(resource: str) -> str:
    return UNITS.get(resource, "byte" if resource.startswith(BYTES) else "")
