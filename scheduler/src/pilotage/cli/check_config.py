"""`pilotage check-config`: is a configuration valid, and what is its effective form."""

import sys
from pathlib import Path

import click

from pilotage.cli.command import PlainCommand, note, plugin_dir_option, verbose_option
from pilotage.cli.formats import FORMATS

EPILOG = """\b
Examples:
  pilotage check-config scheduler.yaml
  pilotage check-config scheduler.yaml -o json | jq '.profiles[].schedulerName'
  pilotage check-config examples/profiles/bin-packing.yaml

\b
Exit code: 0 if it is valid, 2 if not.
"""


@click.command("check-config", cls=PlainCommand, epilog=EPILOG)
@click.argument("file")
@click.option("-o", "--output", type=click.Choice(list(FORMATS)), default="yaml", show_default=True)
@plugin_dir_option
@verbose_option
def command(file: str, output: str, plugin_dirs: tuple[str, ...]) -> None:
    """Validate the KubeSchedulerConfiguration or the SchedulerProfiles in FILE (- for standard input).

    Prints the effective configuration, with all defaults, as kube-scheduler would run it. If it is invalid, prints all
    errors with their lines, and the exit code is 2.
    """
    from pilotage import app  # the plugins take half a second to import
    from pilotage.config.load import effective

    source = sys.stdin.read() if file == "-" else Path(file)
    ready = app.configured(source, plugin_dirs)
    for warning in ready.loaded.warnings:
        note(warning)
    click.echo(FORMATS[output](effective(ready.loaded.config)))
