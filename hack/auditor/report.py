"""The report: written again whenever there is news, so that a killed auditor leaves its findings."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from auditor.rules import RULES, Violation, clock

MOST_NOTES = 200


class Report:
    """Collects findings, says each at once, and keeps the file up to date; it is clean only when it is finished."""

    def __init__(self, path: Path, rules_off: dict[str, str], namespaces: frozenset[str], say: Callable[[str], None]):
        self._path = path
        self._rules_off = rules_off
        self._namespaces = namespaces
        self._say = say
        self._violations: list[Violation] = []
        self._notes: dict[str, None] = {}
        self._times: dict[str, str] = {}
        self._is_news = True

    def add(self, found: Violation) -> None:
        """Take a violation, unless its rule is off or its pod is none of the watched namespaces."""
        if found.rule in self._rules_off or (self._namespaces and found.namespace not in self._namespaces):
            return
        self._violations.append(found)
        self._is_news = True
        self._say(str(found))

    def note(self, text: str) -> None:
        """Add a note that is not a violation."""
        if text not in self._notes and len(self._notes) < MOST_NOTES:
            self._notes[text] = None
            self._is_news = True

    @property
    def violations(self) -> int:
        """How many violations were found."""
        return len(self._violations)

    async def save_news(self, now: float, seen: dict[str, float]) -> None:
        """Write the report if something new was found."""
        if self._is_news:
            self._times.setdefault("started", clock(now))
            await self._save(seen, finished=False)

    async def finish(self, now: float, seen: dict[str, float]) -> None:
        """Write the report for the last time: everything that happened was seen."""
        self._times["ended"] = clock(now)
        await self._save(seen, finished=True)

    async def _save(self, seen: dict[str, float], finished: bool) -> None:
        self._is_news = False
        text = json.dumps(self.as_dict(seen, finished), indent=2) + "\n"
        await asyncio.to_thread(replace, self._path, text)

    def as_dict(self, seen: dict[str, float], finished: bool) -> dict[str, Any]:
        """Return the report as it is written."""
        return {
            "clean": finished and not self._violations,
            "finished": finished,
            **self._times,
            "violations": [found.as_dict() for found in self._violations],
            "seen": seen,
            "rules": RULES,
            "rulesOff": self._rules_off,
            "notes": list(self._notes),
        }


def replace(path: Path, text: str) -> None:
    """Write a file such that a reader sees the old text or the new, never half of it."""
    draft = path.with_name(f".{path.name}.draft")
    draft.write_text(text)
    draft.replace(path)
