"""A stand-in for the plugin that serves extended resources with devices."""

from dataclasses import dataclass, field

from pilotage.framework.api.delegation import Devices
from pilotage.framework.api.nodes import NodeInfo


@dataclass
class Servant:
    """Serves resources with devices by node."""

    counts: dict[str, dict[str, Devices]] = field(default_factory=dict)
    names_version: int = 0
    devices_version: int = 0

    def serves(self, resource: str) -> bool:
        """Return whether it has devices for a resource anywhere."""
        return resource in self.counts

    def devices(self, resource: str, node: NodeInfo) -> Devices:
        """Return the devices for a resource on a node."""
        return self.counts[resource].get(node.name, Devices())
