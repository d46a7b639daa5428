"""NetworkOverhead: the parts of an application close to each other, as the costs of the network say."""

from pilotage.plugins.network.network_overhead.network_overhead import NetworkOverhead

__all__ = ["NetworkOverhead"]
