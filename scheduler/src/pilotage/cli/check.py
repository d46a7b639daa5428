"""`pilotage check`: can SchedulerProfiles run, according to the operator's rules."""

from typing import Any

import click

from pilotage import app
from pilotage.cli.command import BadInput, PlainCommand, note, plugin_dir_option, verbose_option
from pilotage.cli.formats import FORMATS
from pilotage.cli.input_notes import counted
from pilotage.offline.manifest_entries import Found, WrittenProfile, find_entries
from pilotage.offline.manifests import BadManifests
from pilotage.scheduler_profiles.checking import Checked, checked
from pilotage.scheduler_profiles.judge import Judge
from pilotage.scheduler_profiles.resource import KIND

CANNOT_RUN = 1

EPILOG = """\b
Examples:
  pilotage check -f profile.yaml
  pilotage check -f profiles/ --plugin-dir plugins/
  helm template . | pilotage check -f - -o json

\b
Exit code: 0 if all profiles are valid, 1 if one is not, 2 if files, plugins or options cannot be read.
"""


@click.command("check", cls=PlainCommand, epilog=EPILOG)
@click.option(
    "-f", "--filename", "files", multiple=True, metavar="FILE_OR_DIR", help="Manifests; - for standard input."
)
@click.argument("more", nargs=-1, metavar="[FILE_OR_DIR]...")
@plugin_dir_option
@click.option("-o", "--output", type=click.Choice(["text", *FORMATS]), default="text", show_default=True)
@verbose_option
def command(files: tuple[str, ...], more: tuple[str, ...], plugin_dirs: tuple[str, ...], output: str) -> None:
    """Validate SchedulerProfiles as the API server and the operator do, one by one and together.

    For each profile, prints that it can run, or all of its errors, as in its condition Accepted. What depends on
    the cluster is not checked: the scheduler's permissions, the CRDs that plugins need, the allowed hosts and the
    mounted Secrets.
    """
    if not files and not more:
        raise click.UsageError("Nothing to read; name files or folders with -f.")
    profiles = _read([*files, *more])
    catalogue, _ = app.plugins(plugin_dirs)
    results = checked([profile.manifest for profile in profiles], Judge(catalogue))
    if output == "text":
        click.echo("\n".join(line for result in results for line in _lines(result)))
    else:
        data = [_data(profile, result) for profile, result in zip(profiles, results, strict=True)]
        click.echo(FORMATS[output](data))
    if any(result.complaints for result in results):
        raise SystemExit(CANNOT_RUN)


def _read(names: list[str]) -> list[WrittenProfile]:
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
