"""DynamicResources: allocates the devices that pods claim."""

from pilotage.plugins.devices.dynamic_resources.dynamic_resources import DynamicResources

__all__ = ["DynamicResources"]
