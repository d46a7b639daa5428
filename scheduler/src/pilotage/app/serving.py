"""The HTTPS server of a live scheduler: its pages, and access to them."""

from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING

from pilotage.app import EMULATES
from pilotage.app.options import Options, Serving
from pilotage.cluster.credentials.certificate_trust import FrontProxy
from pilotage.cluster.credentials.delegated_auth import AuthSettings, DelegatedAuth
from pilotage.cluster.credentials.trust_source import TrustSettings
from pilotage.cluster.transport.api_client import ApiClient
from pilotage.config.load import effective
from pilotage.config.types import KubeSchedulerConfiguration
from pilotage.model.pod import Pod
from pilotage.model.redaction import redacted
from pilotage.telemetry.health import Health
from pilotage.telemetry.metrics import Metrics
from pilotage.telemetry.pages import Content, Pages
from pilotage.telemetry.resource_metrics import resource_metrics
from pilotage.telemetry.server import Server
from pilotage.telemetry.serving_certificate import ServingCertificate, TlsSettings

if TYPE_CHECKING:
    from pilotage.app.live import Live


def content(
    checks: Health,
    metrics: Metrics,
    config: Callable[[], KubeSchedulerConfiguration],
    options: Options,
    pods: Callable[[], list[Pod]],
    set_verbosity: Callable[[int], None],
    sharing: Callable[[], str],
) -> Content:
    """Return the content of the pages."""
    return Content(
        health=checks,
        metrics=metrics.text,
        reset_metrics=metrics.reset,
        resource_metrics=lambda: "".join(resource_metrics(pods(), options.disabled_metrics)).encode(),
        configuration=lambda: redacted(effective(config())),
        flags=redacted(options.flags),
        version=version("pilotage"),
        emulates=EMULATES,
        profiling=config().enable_profiling,
        set_verbosity=set_verbosity,
        sharing=sharing,
    )


def guard(api: ApiClient, serving: Serving, audiences: Sequence[str] = ()) -> DelegatedAuth:
    """Return the guard of the pages: the API server authorizes requests, and its answers are cached for seconds."""
    return DelegatedAuth(
        api,
        AuthSettings(
            always_allow_paths=serving.always_allow_paths,
            token_ttl=serving.authentication_cache_seconds,
            authorized_ttl=serving.authorized_cache_seconds,
            unauthorized_ttl=serving.unauthorized_cache_seconds,
            trust=_trust(serving),
            audiences=audiences,
        ),
    )


def _trust(serving: Serving) -> TrustSettings:
    proxy = FrontProxy(
        allowed_names=serving.requestheader_allowed_names,
        username_headers=serving.requestheader_username_headers,
        uid_headers=serving.requestheader_uid_headers,
        group_headers=serving.requestheader_group_headers,
        extra_prefixes=serving.requestheader_extra_headers_prefix,
    )
    return TrustSettings(
        client_ca_file=serving.client_ca_file,
        requestheader_client_ca_file=serving.requestheader_client_ca_file,
        front_proxy=proxy,
        look_up=not serving.authentication_skip_lookup,
    )


def certificate(auth: DelegatedAuth, serving: Serving) -> ServingCertificate:
    """Return the certificate of all servers of the process."""
    tls = TlsSettings(
        serving.tls_cert_file, serving.tls_private_key_file, serving.tls_min_version, serving.tls_cipher_suites
    )
    return ServingCertificate(tls, client_authorities=auth.client_authorities)


def server(shown: Content, auth: DelegatedAuth, serving: Serving, shows: ServingCertificate | None = None) -> Server:
    """Return the server, not started yet."""
    return Server(Pages(shown), auth, certificate(auth, serving) if shows is None else shows)


def pages(live: "Live", auth: DelegatedAuth, shows: ServingCertificate) -> Server:
    """Return the server of probes, metrics and pages, not started yet."""
    shown = content(
        live.health(),
        live.metrics,
        live.running_config,
        live.options,
        lambda: list(live.known.pods.values()) if live.may_act() else [],
        live.verbosity.put,
        live.races.page,
    )
    return server(shown, auth, live.options.serving, shows)
