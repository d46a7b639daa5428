"""`pilotage diff`: what a change of a SchedulerProfile does, plugin by plugin."""

from typing import Any

import click

from pilotage.cli.asking import cluster, profile, run
from pilotage.cli.candidates import profiles as profile_names
from pilotage.cli.cluster_flags import About, Asked, asks_a_cluster, output_option
from pilotage.cli.command import NOT_ALL_PLACED, BadInput, PlainCommand, plugin_dir_option, verbose_option
from pilotage.cli.files import FileCluster
from pilotage.cli.named import PROFILE, named
from pilotage.cli.printing import coloured, print_table, printed
from pilotage.cli.program import program_name
from pilotage.cluster.kubectl.names import PROFILES
from pilotage.views.objects.differences import differences

DIFFERENT = NOT_ALL_PLACED
SPEC, RUNNING, LAST_GOOD = "spec", "running", "last-good"
# The status fields with earlier specs.
REMEMBERED = {RUNNING: "lastAcknowledged", LAST_GOOD: "lastGood"}

EPILOG = """\b
Examples:
  pilotage diff batch -f batch.yaml
  pilotage diff batch --from last-good
  pilotage diff batch --from 7 -o json

\b
Exit code: 0 if they are equal, 3 if they differ, 2 if there is no answer.
"""


@click.command("diff", cls=PlainCommand, epilog=EPILOG)
@click.argument(
    "name", metavar="PROFILE", shell_complete=lambda context, _parameter, word: profile_names(context, word)
)
@click.option("-f", "--filename", "file", metavar="FILE", help="The file to compare with; - for standard input.")
@click.option(
    "--from",
    "origin",
    metavar="spec|running|last-good|GENERATION",
    help="The base of the comparison. Default: the last spec that all replicas ran; with -f, the spec in the cluster.",
)
@plugin_dir_option
@asks_a_cluster(About.CLUSTER, source=None)
@output_option()
@verbose_option
def command(
    asked: Asked,
    name: str,
    file: str | None,
    origin: str | None,
    plugin_dirs: tuple[str, ...],
    output: str,
    no_headers: bool,
) -> None:
    """Compare the effective plugins of a profile: its spec with what runs, or a file with its spec.

    All defaults are filled in first: two specs that are written differently and do the same are equal.
    """
    _, name = named(name, PROFILE, {PROFILE})
    found = run(_profile(asked, name))
    begin = origin or (SPEC if file else RUNNING)
    before, after = _spec(found, begin), _in_file(file, name) if file else _spec(found, SPEC)
    told = _compared(name, (begin, before), (file or SPEC, after), plugin_dirs)
    if not printed(told, output):
        _tell(told, headers=not no_headers)
    if told["differences"]:
        raise SystemExit(DIFFERENT)


async def _profile(asked: Asked, name: str) -> dict[str, Any]:
    async with cluster(asked) as documents:
        return await profile(documents, name)


def _spec(profile: dict[str, Any], origin: str) -> dict[str, Any]:
    """Return the current spec of a profile, or one that its status has."""
    status, own = profile.get("status") or {}, dict(profile.get("spec") or {})
    if origin == SPEC:
        return own
    if origin in REMEMBERED:
        found = status.get(REMEMBERED[origin])
        if found is None:
            raise BadInput(f"the profile has no {origin} spec yet; see {program_name()} status")
        return dict(found.get("spec") or {})
    known = {str(profile["metadata"].get("generation")): own}
    for field in REMEMBERED.values():
        kept = status.get(field) or {}
        known.setdefault(str(kept.get("generation")), dict(kept.get("spec") or {}))
    if origin not in known:
        there = ", ".join(sorted(each for each in known if each != "None"))
        raise BadInput(f"--from {origin}: use spec, running, last-good, or one of the generations {there}")
    return known[origin]


def _in_file(file: str, name: str) -> dict[str, Any]:
    found = [each for each in run(FileCluster(file).items(PROFILES)) if each["metadata"]["name"] == name]
    if len(found) != 1:
        raise BadInput(f"{file} contains {'no' if not found else 'more than one'} SchedulerProfile {name}")
    return dict(found[0].get("spec") or {})


def _compared(
    name: str, before: tuple[str, dict[str, Any]], after: tuple[str, dict[str, Any]], folders: tuple[str, ...]
) -> dict[str, Any]:
    from pilotage.app import plugins  # slow to import
    from pilotage.app.profile_comparing import amounts_to

    catalogue, _ = plugins(folders)
    first, second = (amounts_to(name, spec, catalogue, source) for source, spec in (before, after))
    found = list(differences(first, second))
    return {"kind": "ProfileDiff", "name": name, "from": before[0], "to": after[0], "differences": found}


def _tell(told: dict[str, Any], *, headers: bool) -> None:
    if not told["differences"]:
        click.echo(f"{told['name']}: {told['from']} and {told['to']} do the same")
        return
    rows = [
        [each["path"], coloured(_short(each["from"]), "red"), coloured(_short(each["to"]), "green")]
        for each in told["differences"]
    ]
    print_table(["WHAT", told["from"].upper(), told["to"].upper()], rows, headers=headers)


def _short(value: Any) -> str:
    """Return a value in one line; - if there is none."""
    import json

    if value is None:
        return "-"
    return value if isinstance(value, str) else json.dumps(value, separators=(", ", ": "))
