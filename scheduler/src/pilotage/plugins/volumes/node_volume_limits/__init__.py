"""NodeVolumeLimits: limits the number of volumes that CSI drivers attach to a node."""

from pilotage.plugins.volumes.node_volume_limits.node_volume_limits import NodeVolumeLimits

__all__ = ["NodeVolumeLimits"]
