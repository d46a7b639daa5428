"""VolumeBinding: places pods where their volumes are accessible, or can be bound or provisioned."""

from pilotage.plugins.volumes.volume_binding.volume_binding import VolumeBinding

__all__ = ["VolumeBinding"]
