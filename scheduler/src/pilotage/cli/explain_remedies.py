"""What would help a pod that waits, for people and as data."""

from collections.abc import Sequence
from typing import Any

from pilotage.framework.api.remedies import Remedy, as_json
from pilotage.scheduling.remedies import Remedies, WhyNot

TITLE = "What would help, each tried on this cluster (-o yaml has the patches):"


def remedies_data(found: Remedies | None) -> dict[str, Any]:
    """Return the remedies as docs/explain.md describes them."""
    if found is None:
        return {"remedies": [], "remediesNote": ""}
    return {"remedies": [as_json(remedy) for remedy in found.remedies], "remediesNote": found.note}


def remedies_text(found: Remedies | None) -> list[str]:
    """Return the same as lines for people."""
    if found is None:
        return []
    note = [f"  {found.note[:1].upper()}{found.note[1:]}."] if found.note else []
    return [*note, *_list(found.remedies)]


def _list(remedies: Sequence[Remedy]) -> list[str]:
    if not remedies:
        return []
    return [f"  {TITLE}", *(f"    {_actor(each):7}{each.text}" for each in remedies)]


def _actor(remedy: Remedy) -> str:
    return "" if remedy.actor == "wait" else f"{remedy.actor}:"


def why_not_data(found: WhyNot | None) -> dict[str, Any]:
    """Return the comparison with another node as data."""
    if found is None:
        return {}
    told = {"node": found.node, "text": found.text, "comparedWith": found.other, "behind": found.behind}
    return {"whyNot": {**told, "byPlugin": dict(found.by_plugin)}}
