"""Maps instances in the labels of Prometheus series to nodes."""

from collections.abc import Iterable

from pilotage.model.node import Node

NODE_NAME, NODE_ADDRESS = "NodeName", "NodeAddress"  # anything else means both, the name first


class InstanceNames:
    """Nodes by name and by address, with or without a port."""

    def __init__(self, nodes: Iterable[Node], instance_is: str = "") -> None:
        self._known: dict[str, str | None] = {}
        for node in nodes:
            if instance_is != NODE_NAME:
                for address in node.addresses:
                    # An address shared by two nodes identifies neither.
                    self._known[address] = node.name if self._known.get(address, node.name) == node.name else None
        if instance_is != NODE_ADDRESS:
            self._known |= {node.name: node.name for node in nodes}

    def find(self, instance: str) -> str | None:
        """Return the node's name, or None."""
        found = self._known.get(instance)
        return found if found is not None else self._known.get(_without_port(instance))


def _without_port(instance: str) -> str:
    host, colon, port = instance.rpartition(":")
    if not colon or not port.isdecimal() or (":" in host and not host.endswith("]")):
        return instance.strip("[]")
    return host.strip("[]")
