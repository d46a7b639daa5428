"""Validation without a cluster: everything except permissions."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pilotage.model.label_syntax import SUBDOMAIN, complaints
from pilotage.scheduler_profiles.api_rules import broken_rules
from pilotage.scheduler_profiles.choosing import Applicant, Candidate, choose
from pilotage.scheduler_profiles.hashes import spec_hash
from pilotage.scheduler_profiles.judge import INVALID, Complaint, Judge, Verdict
from pilotage.scheduler_profiles.resource import API_VERSION, KIND

LONGEST_NAME = 253
_NAME_RULE = f"lower case letters and digits, with '-' and '.' between them, at most {LONGEST_NAME} in all"


@dataclass(frozen=True)
class Checked:
    """The errors of one profile, alone and in combination with the others, and its effective form."""

    name: str
    verdict: Verdict
    complaints: tuple[Complaint, ...]


def checked(manifests: Sequence[Mapping[str, Any]], judge: Judge) -> list[Checked]:
    """Validate profiles like the API server and then the operator; the first one counts as the oldest."""
    names = [_name(manifest) for manifest in manifests]
    shown = [name or f"document {place}" for place, name in enumerate(names, start=1)]
    specs = [manifest.get("spec") or {} for manifest in manifests]
    verdicts = [judge.judge(name, spec) for name, spec in zip(shown, specs, strict=True)]
    own = [
        [*_about_object(manifest, names), *broken_rules(verdict.spec, name), *verdict.complaints]
        for manifest, name, verdict in zip(manifests, shown, verdicts, strict=True)
    ]
    right = [row for row in zip(shown, specs, verdicts, own, strict=True) if not row[3]]
    beside = _beside_each_other([(name, spec, verdict) for name, spec, verdict, _ in right], judge)
    return [
        Checked(name, verdict, (*found, *([beside[name]] if not found and name in beside else [])))
        for name, verdict, found in zip(shown, verdicts, own, strict=True)
    ]


def judged(manifests: Sequence[Mapping[str, Any]], judge: Judge) -> list[tuple[str, list[str]]]:
    """Return the errors of each profile as text."""
    return [(each.name, [one.message for one in each.complaints]) for each in checked(manifests, judge)]


def _about_object(manifest: Mapping[str, Any], names: Sequence[str]) -> Iterator[Complaint]:
    """Yield what the API server would reject in the object around the spec."""
    version, name = manifest.get("apiVersion"), _name(manifest)
    if version != API_VERSION:
        yield Complaint(INVALID, f"apiVersion: {KIND} is in {API_VERSION}, not in {version}")
    if not name:
        yield Complaint(INVALID, "metadata.name: it is missing")
    elif complaints(name, LONGEST_NAME, SUBDOMAIN, _NAME_RULE):
        yield Complaint(INVALID, f"metadata.name: {_NAME_RULE}, not {name!r:.60}")
    elif Counter(names)[name] > 1:
        yield Complaint(INVALID, "metadata.name: several profiles have this name, and only the last one would be kept")


def _beside_each_other(right: Sequence[tuple[str, Any, Verdict]], judge: Judge) -> dict[str, Complaint]:
    """Return the errors of profiles that are valid alone; each release has its own scheduler."""
    releases: defaultdict[str, list[Applicant]] = defaultdict(list)
    for name, spec, verdict in right:
        candidate = Candidate(spec_hash(spec), 0, spec, verdict, is_wish=True)
        releases[verdict.spec.instance or ""].append(Applicant(name, (candidate,)))
    refused = [choose(applicants, judge).refused for applicants in releases.values()]
    return {name: complaint for each in refused for name, complaint in each.items()}


def _name(manifest: Mapping[str, Any]) -> str:
    metadata = manifest.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    return name if isinstance(name, str) else ""
