"""What the server of a live scheduler shows, and what its flags become."""

from typing import Any

import pytest

from pilotage import app
from pilotage.app.options import Options, Serving
from pilotage.app.probes import health
from pilotage.app.serving import content, guard, server
from pilotage.config.types import KubeSchedulerConfiguration
from pilotage.telemetry.health import Check, ping
from pilotage.telemetry.metrics import Metrics
from pilotage.telemetry.serving_certificate import CannotServe
from pilotage.testing import make_pod


def bad() -> str | None:
    return "bad"


def config() -> KubeSchedulerConfiguration:
    return app.configured(None).loaded.config


@pytest.mark.parametrize(
    ("broken", "failing"),
    [
        pytest.param("", set(), id="all is well"),
        pytest.param("leads", {"healthz", "readyz"}, id="the election has trouble"),
        pytest.param("stopping", {"readyz"}, id="it is about to end"),
        pytest.param("synced", {"readyz"}, id="not everything was listed"),
        pytest.param("watches", {"healthz", "livez"}, id="a watch has ended"),
        pytest.param("loop", {"healthz", "livez"}, id="the loop does not turn"),
    ],
)
def test_probes(broken: str, failing: set[str]) -> None:
    checks: dict[str, Check] = dict.fromkeys(("leads", "stopping", "synced", "watches", "loop"), ping)
    found = health(**(checks | ({broken: bad} if broken else {})))
    assert {group for group in found.groups if not found.probe(group).passed} == failing


def test_the_names_of_the_checks_are_kube_schedulers() -> None:
    found = health(leads=ping, stopping=ping, synced=ping, watches=ping, loop=ping).groups
    assert set(found["readyz"]) == {"leaderElection", "shutdown", "sched-handler-sync"}
    assert {"ping"} < set(found["livez"])
    assert {"leaderElection"} < set(found["healthz"])


def test_without_leader_election_nobody_is_asked_who_leads() -> None:
    found = health(leads=None, stopping=ping, synced=ping, watches=ping, loop=ping).groups
    assert set(found["readyz"]) == {"shutdown", "sched-handler-sync"}
    assert set(found["healthz"]) == {"ping", "loop", "watches"}


def shown(**options: Any) -> Any:
    checks = health(leads=ping, stopping=ping, synced=ping, watches=ping, loop=ping)
    said = Options(**options)
    pods = [make_pod("a", cpu="1", node="n1")]
    return content(checks, Metrics(), lambda: said.applied(config()), said, lambda: pods, lambda _: None, str)


def test_the_configuration_is_shown_with_what_flags_change() -> None:
    found = shown(leader_election={"leader_elect": False}, qps=7.0, kubeconfig="/x").configuration()
    assert found["leaderElection"]["leaderElect"] is False
    assert found["clientConnection"]["qps"] == 7
    assert found["clientConnection"]["kubeconfig"] == "/x"


WITH_CREDENTIALS = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {multiPoint: {enabled: [{name: Peaks}]}}
  pluginConfig:
  - {name: Peaks, args: {metricProvider: {type: Prometheus, address: "https://me:s3cret@prom", token: s3cret}}}
extenders:
- {urlPrefix: "https://me:s3cret@gpu/x", filterVerb: filter, tlsConfig: {certData: eA==, keyData: czNjcmV0}}
"""


def test_no_credential_of_the_configuration_is_shown() -> None:
    checks = health(leads=ping, stopping=ping, synced=ping, watches=ping, loop=ping)
    loaded, said = app.configured(WITH_CREDENTIALS).loaded, Options(flags={"master": "https://me:s3cret@api"})
    found = content(checks, Metrics(), lambda: said.applied(loaded.config), said, list, lambda _: None, lambda: "")
    page = found.configuration()
    assert "s3cret" not in f"{page} {found.flags}"
    assert "czNjcmV0" not in str(page)
    extender = page["extenders"][0]  # type: ignore[index]
    assert extender["urlPrefix"] == "https://REDACTED@gpu/x"
    assert extender["tlsConfig"] == {"certData": "eA==", "keyData": "REDACTED"}


@pytest.mark.parametrize(
    ("flag", "expected"),
    [pytest.param(None, True, id="as configured"), pytest.param(False, False, id="the flag says no")],
)
def test_profiling(flag: bool | None, expected: bool) -> None:
    assert shown(profiling=flag).profiling is expected


@pytest.mark.parametrize(
    ("disabled", "expected"),
    [pytest.param((), True, id="shown"), pytest.param(("kube_pod_resource_request",), False, id="disabled")],
)
def test_what_pods_request(disabled: tuple[str, ...], expected: bool) -> None:
    assert (b"kube_pod_resource_request{" in shown(disabled_metrics=disabled).resource_metrics()) is expected


def test_flags_of_the_guard() -> None:
    api: Any = None
    serving = Serving(
        client_ca_file="/ca",
        requestheader_client_ca_file="/proxy",
        requestheader_allowed_names=("front",),
        requestheader_username_headers=("x-user",),
        requestheader_uid_headers=("x-uid",),
        requestheader_group_headers=("x-group",),
        requestheader_extra_headers_prefix=("x-extra-",),
        authentication_skip_lookup=True,
        authentication_cache_seconds=1.0,
        authorized_cache_seconds=2.0,
        unauthorized_cache_seconds=3.0,
        always_allow_paths=("/only",),
    )
    found = guard(api, serving)._settings
    assert (found.token_ttl, found.authorized_ttl, found.unauthorized_ttl) == (1.0, 2.0, 3.0)
    assert found.always_allow_paths == ("/only",)
    trust, proxy = found.trust, found.trust.front_proxy
    assert (trust.client_ca_file, trust.requestheader_client_ca_file, trust.look_up) == ("/ca", "/proxy", False)
    assert (proxy.allowed_names, proxy.username_headers, proxy.uid_headers) == (("front",), ("x-user",), ("x-uid",))
    assert (proxy.group_headers, proxy.extra_prefixes) == (("x-group",), ("x-extra-",))


@pytest.mark.parametrize(
    ("serving", "text"),
    [
        pytest.param(Serving(tls_cert_file="/a"), "require each other", id="a certificate without a key"),
        pytest.param(Serving(tls_min_version="SSL3"), "unknown --tls-min-version 'SSL3'", id="an unknown version"),
        pytest.param(
            Serving(tls_cipher_suites=("ROT13",)), "unknown --tls-cipher-suites ROT13", id="an unknown cipher"
        ),
    ],
)
def test_what_the_server_cannot_do(serving: Serving, text: str) -> None:
    api: Any = None
    with pytest.raises(CannotServe, match=text):
        server(shown(), guard(api, serving), serving)
