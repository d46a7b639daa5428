"""Keeps the number of attached volumes within what the CSI drivers of a node can do."""

from pilotage.plugins.volumes.node_volume_limits.node_volume_limits import NodeVolumeLimits

__all__ = ["NodeVolumeLimits"]
