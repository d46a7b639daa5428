"""`pilotage extender`: our plugins for a scheduler that is not ours."""

import asyncio
import ssl
from pathlib import Path

import click

from pilotage import app
from pilotage.app.extending import Place, serve
from pilotage.cli.command import BadInput, PlainCommand, note, plugin_dir_option, verbose_option
from pilotage.cluster.services.extender_server import Exposed
from pilotage.cluster.transport.api_errors import NoAccess
from pilotage.config.suggestions import did_you_mean
from pilotage.extenders.extender_service import static_profiles
from pilotage.profiles import Profile

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
    ready = app.configured(None if config is None else Path(config), plugin_dirs)
    for warning in ready.loaded.warnings:
        note(warning)
    profiles = _chosen(ready.profiles(), profile)
    if kubeconfig is None:
        _tell_left_out(profiles)
    place = Place(address, port, _context(tls_cert_file, tls_private_key_file, client_ca_file))
    try:
        asyncio.run(serve(profiles, place, kubeconfig=kubeconfig, on_serving=_tell))
    except (NoAccess, Exposed) as error:
        raise BadInput(str(error)) from None
    except OSError as error:
        raise BadInput(f"cannot listen on {address}:{port}: {error.strerror or error}") from None


def _chosen(profiles: dict[str, Profile], name: str | None) -> dict[str, Profile]:
    if name is None:
        return profiles
    if name not in profiles:
        meant = did_you_mean(name, profiles) or f"the profiles are {', '.join(profiles)}"
        raise BadInput(f"--profile {name}: there is no such profile; {meant}")
    return {name: profiles[name]}


def _tell_left_out(profiles: dict[str, Profile]) -> None:
    kept, left_out = static_profiles(profiles)
    asked = dict.fromkeys(name for profile in kept.values() for name in profile.plugin_set.plugins())
    note(f"plugins that run: {', '.join(asked) or 'none'}")
    if left_out:
        note(f"plugins that do not run, because they need more than the node object: {', '.join(left_out)}")


def _context(cert: str | None, key: str | None, client_ca: str | None) -> ssl.SSLContext | None:
    if cert is None:
        for given, option in ((key, "--tls-private-key-file"), (client_ca, "--client-ca-file")):
            if given is not None:
                raise BadInput(f"{option} needs --tls-cert-file")
        return None
    try:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=client_ca)
        context.load_cert_chain(cert, key)
    except OSError as error:
        raise BadInput(f"invalid certificate: {error}") from None
    if client_ca is not None:
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def _tell(url: str) -> None:
    click.echo(f"serving on {url}")
