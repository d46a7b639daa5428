"""Taints that rules add to devices."""

from collections.abc import Iterable

from pilotage.kinds.devices import DeviceTaint, DeviceTaintRule, DeviceTaintSelector, ResourceSliceSpec


def concerns_slice(rule: DeviceTaintRule, spec: ResourceSliceSpec) -> bool:
    """Return whether a rule may match devices of a slice."""
    selector = rule.spec.device_selector
    if selector is None:  # unlike an empty one, which matches every device
        return False
    if selector.driver is not None and selector.driver != spec.driver:
        return False
    return selector.pool is None or selector.pool == spec.pool.name


def added_taints(rules: Iterable[DeviceTaintRule], device: str) -> tuple[DeviceTaint, ...]:
    """Return the taints that rules for its slice add to a device."""
    return tuple(rule.spec.taint for rule in rules if _names(rule.spec.device_selector, device))


def taints_differ(old: DeviceTaintRule | None, new: DeviceTaintRule | None, spec: ResourceSliceSpec) -> bool:
    """Return whether a change of a rule changes the taints of a device of a slice."""
    before = None if old is None or not concerns_slice(old, spec) else old
    after = None if new is None or not concerns_slice(new, spec) else new
    if before is None and after is None:
        return False
    for device in spec.devices:
        was = added_taints((before,), device.name) if before else ()
        if was != (added_taints((after,), device.name) if after else ()):
            return True
    return False


def _names(selector: DeviceTaintSelector | None, device: str) -> bool:
    return selector is not None and selector.device in (None, device)
