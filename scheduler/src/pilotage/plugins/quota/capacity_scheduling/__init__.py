"""CapacityScheduling: namespaces lend each other what they do not use of their quota, and get it back."""

from pilotage.plugins.quota.capacity_scheduling.capacity_scheduling import CapacityScheduling

__all__ = ["CapacityScheduling"]
