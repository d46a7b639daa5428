"""Brings pods and volumes together: where volumes can be reached, bound, or provisioned."""

from pilotage.plugins.volumes.volume_binding.volume_binding import VolumeBinding

__all__ = ["VolumeBinding"]
