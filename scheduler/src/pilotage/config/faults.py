"""Errors in a configuration: kube-scheduler's message, with a hint for the fix."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from pilotage.config.documents import At
from pilotage.model.go_text import as_json, quoted, shown


class Stage(IntEnum):
    """The stage at which kube-scheduler finds an error; it stops after the first stage with one."""

    READING = 1  # the file, or its YAML
    DECODING = 2  # a value of the wrong type
    STRICTNESS = 3  # a field that does not exist
    VALIDATION = 4
    EXTENDERS = 5  # extenders and plugins that conflict
    PROFILES = 6  # plugins are combined and constructed
    ELECTION = 7  # when the scheduler starts to run


@dataclass(frozen=True)
class Fault:
    """One error: kube-scheduler's message, its position, and the fix."""

    stage: Stage
    text: str
    at: At = ()
    hint: str = ""
    line: int = 0
    # Returns the hint if it depends on the unquoted word in the file; called with None for a quoted one.
    fix: Callable[[str | None], str] | None = field(default=None, compare=False, repr=False)


class InvalidConfiguration(Exception):
    """A configuration is invalid; `faults` lists all errors."""

    def __init__(self, source: str, faults: Iterable[Fault]) -> None:
        self.source = source
        self.faults = tuple(sorted(faults, key=_turn))
        super().__init__(source, self.faults)

    def __str__(self) -> str:
        told: dict[str, None] = {}
        asked: set[str] = set()  # suggestions, to show each only once
        for fault in self.faults:
            told[self._told(fault, fault.hint if fault.hint not in asked else "")] = None
            asked |= {fault.hint} if fault.hint.endswith("?") else set()
        return "\n".join(told)

    @property
    def upstream(self) -> str:
        """The message of kube-scheduler itself about the file."""
        first = self.faults[0].stage
        texts = list(dict.fromkeys(fault.text for fault in self.faults if fault.stage == first))
        if first == Stage.STRICTNESS:
            return f"strict decoding error: {', '.join(texts)}"
        if first == Stage.VALIDATION and len(texts) > 1:
            return f"[{', '.join(texts)}]"
        return texts[0]

    def _told(self, fault: Fault, hint: str) -> str:
        place = f"{self.source}:{fault.line}" if fault.line else self.source
        return f"{place}: {fault.text}{'; ' if hint else ''}{hint}"


def _turn(fault: Fault) -> tuple[int, At]:
    # kube-scheduler builds profiles one after the other.
    return fault.stage, fault.at[1:2] if fault.stage == Stage.PROFILES else ()


def dotted(at: At) -> str:
    """Format a path like Kubernetes: profiles[0].plugins.filter."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in at).removeprefix(".")


def invalid(at: At, value: Any, detail: str, hint: str = "", *, named_type: bool = False) -> Fault:
    """A value that violates a rule; `named_type` if Go has a named string type for it."""
    written = as_json(value) if named_type else shown(value)
    return _of_value(at, f"Invalid value: {written}: {detail}", hint)


def unsupported(at: At, value: str, known: Iterable[str], hint: str = "") -> Fault:
    """A value that is not one of the known ones."""
    # Enumerations have a named type in Go.
    return _of_value(
        at, f"Unsupported value: {as_json(value)}: supported values: {', '.join(map(quoted, known))}", hint
    )


def required(at: At, detail: str = "", hint: str = "") -> Fault:
    """A value that is missing."""
    return _of_value(at, f"Required value: {detail}" if detail else "Required value", hint)


def forbidden(at: At, detail: str, hint: str = "") -> Fault:
    """A value that is not allowed here."""
    return _of_value(at, f"Forbidden: {detail}", hint)


def duplicate(at: At, value: Any, hint: str = "") -> Fault:
    """A value that may occur only once."""
    return _of_value(at, f"Duplicate value: {shown(value)}", hint)


def _of_value(at: At, text: str, hint: str) -> Fault:
    return Fault(Stage.VALIDATION, f"{dotted(at)}: {text}", at, hint)
