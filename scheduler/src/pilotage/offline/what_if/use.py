"""How much of a cluster is requested."""

from collections.abc import Generator, Iterable

from msgspec import Struct

from pilotage.cache.cluster_cache import ClusterCache
from pilotage.framework.api.nodes import Ints

UNITS = {"cpu": "m"}
BYTES = ("memory", "ephemeral-storage", "hugepages-")


class Use(Struct, frozen=True, rename="camel"):
    """What nodes can hold of a resource, and what pods request."""

    allocatable: int
    requested: int
    unit: str = "pieces"


def use_of(cache: ClusterCache) -> Generator[None, None, dict[str, Use]]:
    """Return what all nodes together have of each resource that any of them has; a turn for others at each yield."""
    columns = cache.columns
    count, found = len(columns.infos), dict[str, Use]()
    for name in columns.resources():
        allocatable = _sum(columns.allocatable(name), count)
        yield
        found[name] = Use(allocatable, _sum(columns.requested(name), count), _unit(name))
        yield
    found["pods"] = Use(_sum(columns.allowed_pods, count), _sum(columns.pod_count, count))
    return {name: found[name] for name in _in_order(found)}


def _sum(column: Ints, count: int) -> int:
    return int(column[:count].sum())


def _in_order(resources: Iterable[str]) -> list[str]:
    first = ("cpu", "memory", "pods")
    return sorted(resources, key=lambda name: (first.index(name) if name in first else len(first), name))


def _unit(resource: str) -> str:
    return UNITS.get(resource, "bytes" if resource.startswith(BYTES) else "pieces")
