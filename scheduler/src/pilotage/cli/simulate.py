"""`pilotage simulate`: the engine on files."""

import click

from pilotage.cli.command import PlainCommand, plugin_dir_option, verbose_option
from pilotage.cli.formats import FORMATS

EPILOG = """\b
Examples:
  pilotage simulate -f examples/cluster.yaml -f examples/web.yaml
  pilotage simulate -f examples/cluster.yaml -f examples/web.yaml --explain web-1
  pilotage simulate -f cluster.yaml -f profile.yaml -f pods.yaml
  kubectl get nodes,pods -A -o json | pilotage simulate -f - -f new-pod.yaml --replicas new-pod=20 -o json

\b
Exit code: 0 if every pod has a node, 3 if some have none, 2 if the input is invalid.
"""


@click.command("simulate", cls=PlainCommand, epilog=EPILOG)
@click.option(
    "-f", "--filename", "files", multiple=True, metavar="FILE_OR_DIR", help="Manifests; - for standard input."
)
@click.argument("more", nargs=-1, metavar="[FILE_OR_DIR]...")
@click.option(
    "--config",
    metavar="FILE",
    help="A KubeSchedulerConfiguration, or SchedulerProfiles; without it, the profiles among the manifests, or "
    "kube-scheduler's defaults.",
)
@plugin_dir_option
@click.option(
    "--seed", default=0, show_default=True, metavar="N", help="Seed for choosing among nodes with equal scores."
)
@click.option("--explain", "asked", metavar="POD", help="Show the verdict of every plugin on every node for this pod.")
@click.option(
    "--replicas", multiple=True, metavar="N|POD=N", help="Replicate all pending pods, or one of them, N times."
)
@click.option("-o", "--output", type=click.Choice(["table", *FORMATS]), default="table", show_default=True)
@verbose_option
def command(
    files: tuple[str, ...],
    more: tuple[str, ...],
    config: str | None,
    plugin_dirs: tuple[str, ...],
    seed: int,
    asked: str | None,
    replicas: tuple[str, ...],
    output: str,
) -> None:
    """Schedule every pending pod in manifests or `kubectl get -o yaml` dumps, without a cluster.

    Prints for each pod its node, or the message that kube-scheduler would give for a pending pod.
    """
    if not files and not more:
        raise click.UsageError("Nothing to read; name files or folders with -f.")
    from pilotage.cli.simulating import Wish, simulate  # the engine takes half a second to import

    simulate(Wish([*files, *more], config, plugin_dirs, seed, asked, replicas, output))
