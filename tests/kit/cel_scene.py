"""A device for expressions, and what they say of it."""

import re

from pilotage.model.cel import (
    AttributeValue,
    CelDevice,
    CelQuantity,
    CompileError,
    EvaluationError,
    compile_selector,
)
from pilotage.model.semver import parse

DRIVER = "gpu.example.com"
ATTRIBUTES: dict[str, AttributeValue] = {
    "model": "a100",
    "count": 8,
    "sriov": True,
    "off": False,
    "driverVersion": parse("1.2.3"),
    "pre": parse("1.2.3-alpha.1"),
    "fish": "some_example_value",
    "in": "kw",
    "other.example.com/family": "ampere",
}
CAPACITY = {"memory": "40Gi", "cores": "1500m", "big": "99999999999999999999", "other.example.com/bw": "10G"}
SHORT = {
    r"\bD(?=[.\[ ),]|$)": f'device.attributes["{DRIVER}"]',
    r"\bC(?=\.)": f'device.capacity["{DRIVER}"]',
}


def device(
    attributes: dict[str, AttributeValue] | None = None,
    capacity: dict[str, str] | None = None,
    driver: str = DRIVER,
    allow_multiple: bool = False,
) -> CelDevice:
    """Return a device; without arguments one with something of each type."""
    amounts = CAPACITY if capacity is None else capacity
    return CelDevice(
        driver,
        allow_multiple,
        ATTRIBUTES if attributes is None else attributes,
        {name: CelQuantity.parse(text) for name, text in amounts.items()},
    )


def spelled_out(expression: str) -> str:
    """Return an expression with what D and C stand for."""
    for short, long in SHORT.items():
        expression = re.sub(short, long, expression)
    return expression


def answer(expression: str, of: CelDevice | None = None) -> bool | str:
    """Return whether a device matches, the words of a run-time error, or those of compile errors with their places."""
    try:
        return compile_selector(spelled_out(expression)).matches(device() if of is None else of)
    except CompileError as error:
        return "\n".join(re.findall("ERROR: <input>:(.*)", str(error))) or str(error)
    except EvaluationError as error:
        return str(error)
