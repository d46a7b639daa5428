"""What is wrong with a configuration: in kube-scheduler's words, and with the fix beside them."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from pilotage.config.documents import At


class Stage(IntEnum):
    """When kube-scheduler would find the fault; it gets no further than the first stage that has one."""

    READING = 1  # the file, or its YAML
    DECODING = 2  # a value of the wrong type
    STRICTNESS = 3  # a field that does not exist
    VALIDATION = 4
    EXTENDERS = 5  # where extenders and plugins do not go together
    PROFILES = 6  # plugins put together and constructed
    ELECTION = 7  # when the scheduler starts to run


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong: what kube-scheduler says, where it stands, and what to do."""

    stage: Stage
    text: str
    at: At = ()
    hint: str = ""
    line: int = 0


class InvalidConfiguration(Exception):
    """A configuration was refused; `faults` holds everything that is wrong with it."""

    def __init__(self, source: str, faults: Iterable[Fault]) -> None:
        self.source = source
        self.faults = tuple(sorted(faults, key=_turn))
        super().__init__(source, self.faults)

    def __str__(self) -> str:
        return "\n".join(dict.fromkeys(map(self._told, self.faults)))

    @property
    def upstream(self) -> str:
        """The message with which kube-scheduler itself would refuse the file."""
        first = self.faults[0].stage
        texts = list(dict.fromkeys(fault.text for fault in self.faults if fault.stage == first))
        if first == Stage.STRICTNESS:
            return f"strict decoding error: {', '.join(texts)}"
        if first == Stage.VALIDATION and len(texts) > 1:
            return f"[{', '.join(texts)}]"
        return texts[0]

    def _told(self, fault: Fault) -> str:
        place = f"{self.source}:{fault.line}" if fault.line else self.source
        return f"{place}: {fault.text}{'; ' if fault.hint else ''}{fault.hint}"


def _turn(fault: Fault) -> tuple[int, At]:
    # Profiles are built one after the other.
    return fault.stage, fault.at[1:2] if fault.stage == Stage.PROFILES else ()


def dotted(at: At) -> str:
    """Write a path as Kubernetes does: profiles[0].plugins.filter."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in at).removeprefix(".")


def invalid(at: At, value: Any, detail: str, hint: str = "") -> Fault:
    """A value that breaks a rule."""
    return Fault(Stage.VALIDATION, f"{dotted(at)}: Invalid value: {go_json(value)}: {detail}", at, hint)


def required(at: At, hint: str = "") -> Fault:
    """A value that is missing."""
    return Fault(Stage.VALIDATION, f"{dotted(at)}: Required value", at, hint)


def duplicate(at: At, value: Any, hint: str = "") -> Fault:
    """A value that may be there once only."""
    return Fault(Stage.VALIDATION, f"{dotted(at)}: Duplicate value: {go_json(value)}", at, hint)


def go_json(value: Any) -> str:
    """Write a value as Go's JSON: compact, and safe inside a web page."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    return text.replace("&", r"\u0026").replace("<", r"\u003c").replace(">", r"\u003e")
