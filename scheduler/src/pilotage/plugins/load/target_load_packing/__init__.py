"""TargetLoadPacking: fill nodes up to a target cpu utilization, and spread pods above it."""

from pilotage.plugins.load.target_load_packing.target_load_packing import TargetLoadPacking

__all__ = ["TargetLoadPacking"]
