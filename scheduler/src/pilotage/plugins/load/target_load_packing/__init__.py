"""TargetLoadPacking: fill nodes up to a share of their cores, and spread beyond it."""

from pilotage.plugins.load.target_load_packing.target_load_packing import TargetLoadPacking

__all__ = ["TargetLoadPacking"]
