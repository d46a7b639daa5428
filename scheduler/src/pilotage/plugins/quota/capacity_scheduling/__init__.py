"""CapacityScheduling: elastic quotas; namespaces borrow unused quota, and reclaim it by preemption."""

from pilotage.plugins.quota.capacity_scheduling.capacity_scheduling import CapacityScheduling

__all__ = ["CapacityScheduling"]
