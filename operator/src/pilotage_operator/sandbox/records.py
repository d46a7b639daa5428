"""The messages of the sandbox: plain data, validated when received."""

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from pilotage.framework.api.plugin import Permission
from pilotage.model.outside_services import OutsideRules
from pilotage.scheduler_profiles.judge import Complaint, Verdict, read_spec


class SourceFile(msgspec.Struct, frozen=True):
    """A plugin file."""

    path: str
    text: str


class Question(msgspec.Struct, frozen=True, omit_defaults=True):
    """A request: what do these files contain, or can the spec of a profile run with them."""

    ask: Literal["describe", "judge"]
    files: tuple[SourceFile, ...]
    name: str = ""
    spec: Any = None
    rules: OutsideRules | None = None


class Answer(msgspec.Struct, omit_defaults=True):
    """The answer; a problem concerns the files."""

    plugins: tuple[str, ...] = ()
    problem: str = ""
    verdict: "VerdictRecord | None" = None


class ComplaintRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """One error in a spec."""

    reason: str
    message: str
    plugin: str = ""
    is_harmless: bool = False


class Need(msgspec.Struct, frozen=True):
    """A permission that a plugin needs."""

    plugin: str
    group: str
    resource: str
    verbs: tuple[str, ...]


class VerdictRecord(msgspec.Struct, frozen=True):
    """A verdict without its spec."""

    scheduler_name: str
    complaints: tuple["ComplaintRecord", ...] = ()
    profile: dict[str, Any] = {}
    extenders: tuple[dict[str, Any], ...] = ()
    points: dict[str, tuple[str, ...]] = {}
    queue_sort: str = ""
    needs: tuple[Need, ...] = ()


def recorded(verdict: Verdict) -> VerdictRecord:
    """Convert a verdict to a record."""
    return VerdictRecord(
        verdict.scheduler_name,
        tuple(ComplaintRecord(each.reason, each.message, each.plugin, each.is_harmless) for each in verdict.complaints),
        dict(verdict.profile),
        tuple(dict(extender) for extender in verdict.extenders),
        dict(verdict.points),
        verdict.queue_sort,
        tuple(Need(plugin, each.group, each.resource, each.verbs) for plugin, each in verdict.needs),
    )


def restored(record: VerdictRecord, name: str, spec: Any) -> Verdict:
    """Convert a record to the verdict on this spec; ValueError if it is for another scheduler."""
    read, _ = read_spec(spec if spec is not None else {})
    if read is None:
        return Verdict(record.scheduler_name, _complaints(record.complaints))
    wanted = read.scheduler_name or name
    if record.scheduler_name != wanted or record.profile.get("schedulerName", wanted) != wanted:
        raise ValueError(f"it is about {record.scheduler_name}, not {wanted}")
    return Verdict(
        record.scheduler_name,
        _complaints(record.complaints),
        read,
        record.profile,
        record.extenders,
        record.points,
        record.queue_sort,
        tuple((need.plugin, Permission(need.group, need.resource, need.verbs)) for need in record.needs),
    )


def _complaints(found: Sequence[ComplaintRecord]) -> tuple[Complaint, ...]:
    return tuple(Complaint(each.reason, each.message, each.plugin, each.is_harmless) for each in found)
