"""`pilotage extender`: our plugins for another scheduler."""

import click

from pilotage.cli.command import PlainCommand, plugin_dir_option, verbose_option

EPILOG = """\b
Examples:
  pilotage extender --plugin-dir examples/plugins
  pilotage extender --config scheduler.yaml --kubeconfig ~/.kube/config --port 8888
  pilotage extender --tls-cert-file tls.crt --tls-private-key-file tls.key --client-ca-file ca.crt --address 0.0.0.0

\b
The configuration of the kube-scheduler that calls it:
  extenders:
  - urlPrefix: http://127.0.0.1:8888
    filterVerb: filter
    prioritizeVerb: prioritize
    weight: 1
    nodeCacheCapable: false      # true with --kubeconfig; then also preemptVerb: preempt, bindVerb: bind
"""


@click.command("extender", cls=PlainCommand, epilog=EPILOG)
@click.option("--config", metavar="FILE", help="A KubeSchedulerConfiguration; without it, kube-scheduler's defaults.")
@click.option("--profile", metavar="NAME", help="Serve only this profile. Default: the profile that the pod names.")
@plugin_dir_option
@click.option(
    "--kubeconfig", metavar="FILE", help="Watch this cluster, so that plugins see all pods; required to bind."
)
@click.option(
    "--address",
    default="127.0.0.1",
    show_default=True,
    metavar="IP",
    help="The address to listen on; any but a loopback address needs --client-ca-file.",
)
@click.option(
    "--port", default=8888, show_default=True, type=click.IntRange(0, 65535), help="The port; 0 for any free one."
)
@click.option("--tls-cert-file", metavar="FILE", help="The server's certificate. Default: no TLS.")
@click.option("--tls-private-key-file", metavar="FILE", help="Its key.")
@click.option("--client-ca-file", metavar="FILE", help="Accept only clients with a certificate of this CA.")
@verbose_option
def command(
    config: str | None,
    profile: str | None,
    plugin_dirs: tuple[str, ...],
    kubeconfig: str | None,
    address: str,
    port: int,
    tls_cert_file: str | None,
    tls_private_key_file: str | None,
    client_ca_file: str | None,
) -> None:
    """Serve the plugins of a profile as an HTTP extender to a stock kube-scheduler.

    Answers /filter, /prioritize (0 to 10 in proportion to the best node's weighted total), /preempt and /bind. Without
    --kubeconfig it knows only what a request contains, and runs only plugins that need nothing but the node object.
    """
    from pilotage.cli.extending import Wish, extend  # the engine takes half a second to import

    tls = (tls_cert_file, tls_private_key_file, client_ca_file)
    extend(Wish(config, profile, plugin_dirs, kubeconfig, address, port, tls))
