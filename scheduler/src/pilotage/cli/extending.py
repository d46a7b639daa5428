"""What `pilotage extender` does: serves the plugins of a configuration over HTTP."""

import asyncio
import ssl
from dataclasses import dataclass
from pathlib import Path

import click

from pilotage import app
from pilotage.app.extending import Place, serve
from pilotage.cli.command import BadInput, note
from pilotage.cluster.services.extender_server import Exposed
from pilotage.cluster.transport.api_errors import NoAccess
from pilotage.config.suggestions import did_you_mean
from pilotage.extenders.extender_service import static_profiles
from pilotage.profiles import Profile


@dataclass(frozen=True)
class Wish:
    """Which plugins are served, and where."""

    config: str | None
    profile: str | None
    plugin_dirs: tuple[str, ...]
    kubeconfig: str | None
    address: str
    port: int
    tls: tuple[str | None, str | None, str | None]  # certificate, key, CA of clients


def extend(wish: Wish) -> None:
    """Serve until it is told to stop."""
    ready = app.configured(None if wish.config is None else Path(wish.config), wish.plugin_dirs)
    for warning in ready.loaded.warnings:
        note(warning)
    profiles = _chosen(ready.profiles(), wish.profile)
    if wish.kubeconfig is None:
        _tell_left_out(profiles)
    place = Place(wish.address, wish.port, _context(*wish.tls))
    try:
        asyncio.run(serve(profiles, place, kubeconfig=wish.kubeconfig, on_serving=_tell))
    except (NoAccess, Exposed) as error:
        raise BadInput(str(error)) from None
    except OSError as error:
        raise BadInput(f"cannot listen on {wish.address}:{wish.port}: {error.strerror or error}") from None


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
