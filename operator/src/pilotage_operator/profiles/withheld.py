"""Credentials in specs that ran before they were refused there: statuses do not show them.

A spec that may come back is needed whole. Where its status must not have all of it, the ConfigMap that runs it does.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from pilotage.model.redaction import redacted
from pilotage.scheduler_profiles.hashes import canonical
from pilotage.scheduler_profiles.judge import Complaint, Verdict
from pilotage.scheduler_profiles.resource import GoodSpec
from pilotage.scheduler_profiles.services import INLINE_CREDENTIALS
from pilotage_operator.profiles.past import Past

WholeSpecs = Mapping[str, Mapping[str, Any]]  # by hash


def against(verdict: Verdict, *, runs: bool) -> list[Complaint]:
    """Return what is wrong with a spec; with one that runs already a credential in it is only unwise."""
    return [each for each in verdict.complaints if not (runs and each.reason == INLINE_CREDENTIALS)]


def shown(good: GoodSpec | None) -> GoodSpec | None:
    """Return what a status shows of a spec."""
    return good if good is None else good.model_copy(update={"spec": redacted(good.spec)})


def whole(past: Past, specs: WholeSpecs) -> Past:
    """Return the past with specs as they were."""

    def found(good: GoodSpec | None) -> GoodSpec | None:
        if good is None or good.spec_hash not in specs:
            return good
        return good.model_copy(update={"spec": dict(specs[good.spec_hash])})

    return replace(past, last_acknowledged=found(past.last_acknowledged), last_good=found(past.last_good))


def kept(goods: Iterable[GoodSpec | None]) -> dict[str, Any]:
    """Return those specs that a status does not show whole."""
    return {good.spec_hash: good.spec for good in goods if good is not None and redacted(good.spec) != good.spec}


def withheld_text(specs: Mapping[str, WholeSpecs]) -> str:
    """Write down what is kept of each profile; empty if that is nothing."""
    found = {name: each for name, each in specs.items() if each}
    return canonical(found) if found else ""


def withheld_in(text: str) -> dict[str, dict[str, Any]]:
    """Read what is kept of each profile; whether it is what ran, its hash tells."""
    try:
        found = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    profiles = found.items() if isinstance(found, dict) else ()
    return {
        name: {hash_: spec for hash_, spec in specs.items() if isinstance(spec, dict)}
        for name, specs in profiles
        if isinstance(specs, dict)
    }
