"""Converts NodeLabel of v1beta1, which kept pods on nodes with or without labels, to an added affinity."""

from collections.abc import Mapping
from typing import Any

_OPERATORS = {"presentLabels": "Exists", "absentLabels": "DoesNotExist"}
_PREFERENCES = ("presentLabelsPreference", "absentLabelsPreference")


def added_affinity(args: Any) -> tuple[dict[str, Any], list[str]]:
    """Return the equivalent node affinity, and the arguments without an equivalent."""
    given = args if isinstance(args, Mapping) else {}
    expressions = [
        {"key": label, "operator": operator}
        for argument, operator in _OPERATORS.items()
        for label in _labels(given.get(argument))
    ]
    terms = {"nodeSelectorTerms": [{"matchExpressions": expressions}]}
    affinity = {"requiredDuringSchedulingIgnoredDuringExecution": terms} if expressions else {}
    return affinity, [argument for argument in _PREFERENCES if given.get(argument)]


def _labels(given: Any) -> list[str]:
    return [label for label in given if isinstance(label, str)] if isinstance(given, list) else []
