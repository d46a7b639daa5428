"""`pilotage check`: can SchedulerProfiles run, according to the operator's rules."""

import click

from pilotage.cli.command import PlainCommand, plugin_dir_option, verbose_option
from pilotage.cli.formats import FORMATS

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
    from pilotage.cli.checking import check  # the operator's rules take half a second to import

    check([*files, *more], plugin_dirs, output)
