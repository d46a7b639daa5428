"""NetworkOverhead: places dependent workloads close to each other, by network costs."""

from pilotage.plugins.network.network_overhead.network_overhead import NetworkOverhead

__all__ = ["NetworkOverhead"]
