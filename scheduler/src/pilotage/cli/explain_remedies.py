"""What would help a waiting pod, as text and as data."""

from typing import Any

from pilotage.cli.explain_words import remedies_lines
from pilotage.framework.api.remedies import as_json
from pilotage.scheduling.remedies import Remedies, WhyNot


def remedies_data(found: Remedies | None) -> dict[str, Any]:
    """Return the remedies as data; docs/explain.md describes it."""
    if found is None:
        return {"remedies": [], "remediesNote": ""}
    return {"remedies": [as_json(remedy) for remedy in found.remedies], "remediesNote": found.note}


def remedies_text(found: Remedies | None) -> list[str]:
    """Return the same as lines of text."""
    if found is None:
        return []
    return remedies_lines([as_json(remedy) for remedy in found.remedies], found.note)


def why_not_data(found: WhyNot | None) -> dict[str, Any]:
    """Return the comparison with another node as data."""
    if found is None:
        return {}
    told = {"node": found.node, "text": found.text, "comparedWith": found.other, "behind": found.behind}
    return {"whyNot": {**told, "byPlugin": dict(found.by_plugin)}}
