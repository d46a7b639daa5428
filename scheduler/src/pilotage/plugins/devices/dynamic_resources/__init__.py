"""DynamicResources: places pods where the devices of their claims are free, and allocates them."""

from pilotage.plugins.devices.dynamic_resources.dynamic_resources import DynamicResources

__all__ = ["DynamicResources"]
