"""Judging manifests without a cluster: everything but the rights, which only a cluster knows."""

from collections.abc import Mapping, Sequence
from typing import Any

from pilotage.scheduler_profiles.choosing import Applicant, Candidate, choose
from pilotage.scheduler_profiles.hashes import spec_hash
from pilotage.scheduler_profiles.judge import Judge


def judged(manifests: Sequence[Mapping[str, Any]], judge: Judge) -> list[tuple[str, list[str]]]:
    """Return what is wrong with each profile, alone and beside the others, of which the first is the oldest."""
    names = [_name(manifest, place) for place, manifest in enumerate(manifests)]
    specs = [manifest.get("spec") or {} for manifest in manifests]
    verdicts = [judge.judge(name, spec) for name, spec in zip(names, specs, strict=True)]
    applicants = [
        Applicant(name, (Candidate(spec_hash(spec), 0, spec, verdict, is_wish=True),))
        for name, spec, verdict in zip(names, specs, verdicts, strict=True)
        if not verdict.complaints
    ]
    refused = choose(applicants, judge).refused
    return [
        (name, [each.message for each in (*verdict.complaints, *([refused[name]] if name in refused else []))])
        for name, verdict in zip(names, verdicts, strict=True)
    ]


def _name(manifest: Mapping[str, Any], place: int) -> str:
    metadata = manifest.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    return name if isinstance(name, str) else f"document {place + 1}"
