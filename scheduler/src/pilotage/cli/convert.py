"""`pilotage convert`: the configuration of another scheduler as SchedulerProfiles."""

import click

from pilotage.cli.command import PlainCommand, plugin_dir_option, verbose_option

EPILOG = """\b
Examples:
  pilotage convert scheduler-config.yaml | kubectl apply -f -
  pilotage convert values.yaml > profile.yaml && pilotage check -f profile.yaml
  kubectl get configmap scheduler-config -n kube-system -o yaml | pilotage convert - -o config

\b
Exit code: 0 if everything was converted, 1 if the result needs changes to run, 2 if there is nothing to convert.
"""


@click.command("convert", cls=PlainCommand, epilog=EPILOG)
@click.argument("files", nargs=-1, required=True, metavar="FILE_OR_DIR...")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["profiles", "config"]),
    default="profiles",
    show_default=True,
    help="SchedulerProfiles, or KubeSchedulerConfiguration v1.",
)
@plugin_dir_option
@verbose_option
def command(files: tuple[str, ...], output: str, plugin_dirs: tuple[str, ...]) -> None:
    """Convert the configuration of another scheduler to SchedulerProfiles; - is standard input.

    Reads KubeSchedulerConfiguration v1beta1, v1beta2, v1beta3 and v1, bare or in ConfigMaps, and values of
    scheduler-plugins' chart. Prints YAML for `kubectl apply -f -`; what has no equivalent is reported on stderr.
    """
    from pilotage.cli.converting import convert  # slow to import

    convert(files, output, plugin_dirs)
