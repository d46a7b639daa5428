"""The language of device selectors: CEL as kube-scheduler evaluates it, without a library."""

from pilotage.model.cel.devices import AttributeValue, BadAttribute, CelDevice
from pilotage.model.cel.errors import CompileError, EvaluationError, hinted
from pilotage.model.cel.quantities import CelQuantity, InvalidCelQuantity
from pilotage.model.cel.selector import Selector, compile_selector

__all__ = [
    "AttributeValue",
    "BadAttribute",
    "CelDevice",
    "CelQuantity",
    "CompileError",
    "EvaluationError",
    "InvalidCelQuantity",
    "Selector",
    "compile_selector",
    "hinted",
]
