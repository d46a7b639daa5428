"""Brings pods and volumes together: where volumes can be reached, can be taken, or can be made."""

from pilotage.plugins.volumes.volume_binding.volume_binding import VolumeBinding

__all__ = ["VolumeBinding"]
