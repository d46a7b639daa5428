"""What `pilotage check` does: reads SchedulerProfiles, judges them, and prints the verdicts."""

from collections.abc import Sequence
from typing import Any

import click

from pilotage import app
from pilotage.cli.command import BadInput, note
from pilotage.cli.formats import FORMATS
from pilotage.cli.input_notes import counted
from pilotage.offline.manifest_entries import Found, WrittenProfile, find_entries
from pilotage.offline.manifests import BadManifests
from pilotage.scheduler_profiles.checking import Checked, checked
from pilotage.scheduler_profiles.judge import Judge
from pilotage.scheduler_profiles.resource import KIND

CANNOT_RUN = 1


def check(names: Sequence[str], plugin_dirs: tuple[str, ...], output: str) -> None:
    """Print for each profile whether it can run; the exit code is 1 if one cannot."""
    profiles = _read(names)
    catalogue, _ = app.plugins(plugin_dirs)
    results = checked([profile.manifest for profile in profiles], Judge(catalogue))
    if output == "text":
        click.echo("\n".join(line for result in results for line in _lines(result)))
    else:
        data = [_data(profile, result) for profile, result in zip(profiles, results, strict=True)]
        click.echo(FORMATS[output](data))
    if any(result.complaints for result in results):
        raise SystemExit(CANNOT_RUN)


def _read(names: Sequence[str]) -> list[WrittenProfile]:
    found = find_entries(names)
    if found.problems:
        raise BadManifests(found.problems)
    if not found.profiles:
        raise BadInput(f"there is no {KIND} in {', '.join(names)}")
    if others := _others(found):
        note(f"{counted(others, 'object')} of other kinds {'was' if others == 1 else 'were'} ignored")
    return found.profiles


def _others(found: Found) -> int:
    return len(found.entries) + found.left_out.total()


def _lines(result: Checked) -> list[str]:
    return [f"{result.name}: {each.message}" for each in result.complaints] or [f"{result.name}: it can run"]


def _data(profile: WrittenProfile, result: Checked) -> dict[str, Any]:
    return {
        "name": result.name,
        "schedulerName": result.verdict.scheduler_name,
        "place": str(profile.place),
        "accepted": not result.complaints,
        "complaints": [{"reason": each.reason, "message": each.message} for each in result.complaints],
        "plugins": {point: list(names) for point, names in result.verdict.points.items()},
    }
