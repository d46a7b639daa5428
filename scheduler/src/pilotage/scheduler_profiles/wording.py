"""Translates messages about a rendered configuration to the fields of a SchedulerProfile."""

import re
from collections.abc import Sequence
from contextlib import suppress
from copy import deepcopy
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from pilotage.config.arguments import profile_prefix
from pilotage.config.documents import At
from pilotage.config.faults import Fault, Stage, dotted
from pilotage.config.sharing import READERS
from pilotage.model.redaction import redacted

LONGEST_MESSAGE = 4096
_OF_ARGUMENTS = re.compile(
    r"^(?:decoding \.\S+: )?(?:strict decoding error: )?(?:decoding args for plugin \S+: )?"
    r"(?:strict decoding error: )?"
)
_OF_PLUGIN = re.compile(r'^initializing plugin "[^"]*": ')
_ARGUMENTS_HINT = re.compile(r"^give it arguments: pluginConfig: \[\{name: (.*?), args: (.*)\}\]$")


def told(fault: Fault, scheduler_name: str, arguments: Sequence[str]) -> str:
    """Return one fault of a configuration with a single profile; `arguments` are the plugins of its pluginConfig."""
    path = _spec_path(fault, arguments)
    text = fault.text.removeprefix(profile_prefix(scheduler_name)).removeprefix("initializing profiles: ")
    text = _OF_PLUGIN.sub("", _OF_ARGUMENTS.sub("", text))
    for known in (f"{dotted(fault.at)}: ", f"{dotted(fault.at[5:])}: "):
        text = text.removeprefix(known) if known != ": " else text
    hint = _ARGUMENTS_HINT.sub(r"give \1 its arguments: args: \2", fault.hint)
    return shortened(f"{path}: {text}" + (f"; {hint}" if hint else ""))


def _spec_path(fault: Fault, arguments: Sequence[str]) -> str:
    at = fault.at
    if at[2:3] == ("pluginConfig",) and len(at) > 3 and isinstance(at[3], int):
        inside = () if fault.stage == Stage.STRICTNESS else at[5:]
        if arguments[at[3]] in READERS:
            return dotted(("spec", arguments[at[3]].partition("/")[2], *inside))
        return f"spec.plugins[name={arguments[at[3]]}].{dotted(('args', *inside))}"
    if at[:1] == ("extenders",):
        return f"spec.{dotted(at)}"
    if at[2:3] == ("plugins",) or len(at) < 3:
        return "spec.plugins"
    return f"spec.{dotted(at[2:])}"


def told_by_model(error: ValidationError, spec: Any) -> list[str]:
    """Return all errors of the resource's model in a spec."""
    return [
        shortened(f"{_model_path(each['loc'], spec)}: {_lower(each['msg'])}{_instead_of(each)}")
        if each["type"] not in ("missing", "extra_forbidden")
        else f"{_model_path(each['loc'], spec)}: {_PLAIN[each['type']]}"
        for each in error.errors(include_url=False)
    ]


def _instead_of(error: ErrorDetails) -> str:
    """Return the given value, unless it is a credential."""
    name = str(error["loc"][-1]) if error["loc"] else ""
    return f", not {redacted(error['input'], name)!r:.60}"


_PLAIN = {"missing": "required", "extra_forbidden": "unknown field"}


def _model_path(loc: At, spec: Any) -> str:
    if loc[:1] == ("plugins",) and len(loc) > 1 and isinstance(loc[1], int):
        entry = spec["plugins"][loc[1]]
        if isinstance(entry, dict) and isinstance(entry.get("name"), str):
            rest = dotted(loc[2:])
            return f"spec.plugins[name={entry['name']}]" + (f".{rest}" if rest else "")
    return dotted(("spec", *loc))


def without_faults(spec: Any, error: ValidationError) -> Any:
    """Return a spec without the values that its model rejects."""
    left = deepcopy(spec)
    for each in reversed(error.errors(include_url=False)):  # the last first: places before it stay the same
        at = each["loc"][:-1] if each["type"] == "missing" else each["loc"]
        with suppress(LookupError, TypeError):
            inside = left
            for part in at[:-1]:
                inside = inside[part]
            del inside[at[-1]]
    return left


def _lower(message: str) -> str:
    return message[:1].lower() + message[1:]


def shortened(message: str) -> str:
    """Return a message that is short enough for people and for the API server."""
    return message if len(message) <= LONGEST_MESSAGE else message[: LONGEST_MESSAGE - 4] + " ..."
