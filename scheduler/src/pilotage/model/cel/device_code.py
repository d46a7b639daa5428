"""Reads fields, by the shortest way for those of the device."""

from typing import Any

from pilotage.model.cel.access import field
from pilotage.model.cel.environment import Evaluate, Slots
from pilotage.model.cel.errors import EvaluationError
from pilotage.model.cel.syntax import Index, Literal, Name, Node, Select

DEVICE_CODE: dict[str, Evaluate] = {
    "driver": lambda slots: slots[0].driver,
    "allowMultipleAllocations": lambda slots: slots[0].allow_multiple,
    "attributes": lambda slots: slots[0].attributes,
    "capacity": lambda slots: slots[0].capacity,
}


def field_of(operand: Node, is_shadowed: bool, run: Evaluate, key: str) -> Evaluate:
    """Return what reads a constant field, by the shortest way for device.attributes["..."].field."""
    kind, domain = _device_domain(operand, is_shadowed)
    if kind == "attributes":

        def attribute(slots: Slots) -> Any:
            try:
                return slots[0].attributes[domain][key]
            except KeyError:
                raise EvaluationError(f"no such key: {key}") from None

        return attribute
    if kind == "capacity":

        def capacity(slots: Slots) -> Any:
            try:
                return slots[0].capacity[domain][key]
            except KeyError:
                raise EvaluationError(f"no such key: {key}") from None

        return capacity

    def general(slots: Slots) -> Any:
        value = run(slots)
        if type(value) is dict:
            try:
                return value[key]
            except KeyError:
                raise EvaluationError(f"no such key: {key}") from None
        return field(value, key)

    return general


def _device_domain(node: Node, is_shadowed: bool) -> tuple[str, str]:
    """Return the kind and the domain if a node is device.attributes["..."], or its like."""
    if is_shadowed:
        return "", ""
    match node:
        case Index(operand=Select(operand=Name(name="device")) as select, key=Literal(value=str() as domain)):
            pass
        case Select(operand=Select(operand=Name(name="device")) as select, field=domain):
            pass
        case _:
            return "", ""
    is_plain = not (node.is_optional or select.is_optional or select.is_test or getattr(node, "is_test", False))
    return (select.field, domain) if is_plain and select.field in ("attributes", "capacity") else ("", "")
