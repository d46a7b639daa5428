"""All devices of the cluster: slices with taint rules applied, their pools, and what each node sees."""

from pilotage.kinds.devices import DeviceTaintRule, ResourceSlice


class Inventory:
    """The slices of the cluster, kept current by their events."""

    def slice_changed(self, old: ResourceSlice | None, new: ResourceSlice | None) -> None:
        """Follow a new, changed or deleted slice."""
        raise NotImplementedError

    def rule_changed(self, old: DeviceTaintRule | None, new: DeviceTaintRule | None) -> bool:
        """Follow a taint rule, and return whether the taints of some device are different now."""
        raise NotImplementedError
