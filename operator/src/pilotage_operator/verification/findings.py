"""Findings about a release: good or not, and the fix."""

from dataclasses import dataclass

from pilotage_operator.condition_reasons import CONDITIONS


@dataclass(frozen=True)
class Finding:
    """One check and its result."""

    is_well: bool
    sentence: str
    remedy: str = ""
    may_pass: bool = False  # may soon become good without a change

    def __str__(self) -> str:
        """Return the text for people."""
        if self.is_well:
            return f"ok: {self.sentence}"
        return f"FAILED: {self.sentence}" + (f"\n    fix: {self.remedy}" if self.remedy else "")


def well(sentence: str) -> Finding:
    """Return a good finding."""
    return Finding(True, sentence)


def remedy(condition: str, reason: str) -> str:
    """Return the documented fix for a condition with this reason."""
    return next(
        (each.remedy for kind in CONDITIONS if kind.name == condition for each in kind.reasons if each.word == reason),
        f"See the condition {condition}.",
    )
