"""Kinds of devices as expressions see them."""

from pilotage.kinds.devices import DeviceAttribute
from pilotage.model.cel import AttributeValue, BadAttribute, CelDevice, CelQuantity
from pilotage.model.semver import InvalidSemver
from pilotage.model.semver import parse as parse_semver
from pilotage.plugins.devices.dynamic_resources.device_kinds import DeviceKind

UNSUPPORTED = BadAttribute("unsupported attribute value")


def seen_by_expressions(kind: DeviceKind) -> CelDevice:
    """Return a kind of device, whose amounts are quantities."""
    if kind.cel is None:
        device = kind.device
        attributes = {name: _value(each) for name, each in device.attributes.items()}
        capacity = {name: CelQuantity.parse(str(each.value)) for name, each in device.capacity.items()}
        kind.cel = CelDevice(kind.driver, kind.shared, attributes, capacity)
    return kind.cel


def _value(given: DeviceAttribute) -> AttributeValue:
    for plain in (given.string_value, given.int_value, given.bool_value):
        if plain is not None:
            return plain
    if given.version_value is not None:
        return _versions((given.version_value,), single=True)
    for several in (given.ints, given.bools, given.strings):
        if several is not None:
            return several
    return UNSUPPORTED if given.versions is None else _versions(given.versions)


def _versions(texts: tuple[str, ...], single: bool = False) -> AttributeValue:
    try:
        found = tuple(map(parse_semver, texts))
    except InvalidSemver as wrong:
        return BadAttribute(f"parse semantic version: {wrong}")
    return found[0] if single else found
