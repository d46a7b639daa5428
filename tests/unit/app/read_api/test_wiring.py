"""The read API of a whole scheduler: it is served, hears of decisions, and the leader has its label."""

import asyncio
import hashlib
import json
import logging
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import aiohttp
import pytest

from kit.looking_glass import free_port
from kit.small_api import SmallApi, small_api
from pilotage import app
from pilotage.app import live as module
from pilotage.app.hot_configuration import first_configuration
from pilotage.app.live import Live
from pilotage.app.options import FollowedConfigMap, Options, Serving
from pilotage.app.read_api.serving import LEADS
from pilotage.cluster.credentials.access import find
from pilotage.cluster.kubectl.replicas import replicas
from pilotage.config.handshake import CONFIGURATION, text_hash
from pilotage.telemetry.serving_certificate import CannotServe
from pilotage.telemetry.verbosity import Verbosity
from pilotage.testing import node_manifest, pod_manifest
from pilotage.views.profiles import profiles
from pilotage.views.state import Stamp, finish

PATIENCE = 20.0  # seconds until a test gives up
PLACE = FollowedConfigMap("kube-system", "pilotage-config", "kube-system", "me")
TEXT = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{schedulerName: ours}]
"""


@pytest.fixture(autouse=True)
def as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the rubbish of tests to be collected."""
    monkeypatch.setattr(module, "calm_garbage_collection", lambda: None)


@pytest.fixture
async def api() -> AsyncIterator[SmallApi]:
    async with small_api() as running:
        running.put("nodes", node_manifest("n1"))
        running.put("pods", pod_manifest("me", namespace="kube-system", node="n1"))
        metadata = {"name": PLACE.name, "namespace": PLACE.namespace}
        running.put("configmaps", {"metadata": metadata, "data": {CONFIGURATION: TEXT}})
        yield running


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110 - nobody tells when a server was asked
            await asyncio.sleep(0.01)


async def made(api: SmallApi, **serving: Any) -> Live:
    given = Serving(bind_address="127.0.0.1", authentication_skip_lookup=True, **serving)
    options = Options(master=api.url, config_map=PLACE, leader_election={"leader_elect": False}, serving=given)
    ready, first = await first_configuration(app.configured(None), PLACE, find("", master=api.url), "test")
    return Live(ready, options, Verbosity(), followed=first)


@asynccontextmanager
async def running(api: SmallApi, **serving: Any) -> AsyncIterator[Live]:
    live, stopped = await made(api, **serving), asyncio.Event()
    task = asyncio.create_task(live.run(stopped))
    try:
        await until(lambda: live.is_ready)
        yield live
    finally:
        stopped.set()
        await asyncio.wait([task], timeout=PATIENCE)


def labels(api: SmallApi) -> dict[str, str]:
    """Return the labels of the scheduler's own pod."""
    found: dict[str, str] = api.objects["pods"]["kube-system/me"]["metadata"].get("labels", {})
    return found


async def test_the_leader_has_its_label_and_logs_decisions(api: SmallApi) -> None:
    async with running(api, secure_port=0, api_port=free_port()) as live:  # one does not need the other
        assert live._read_api is not None
        await until(lambda: labels(api).get(LEADS) == "true")
        api.put("pods", pod_manifest("web", scheduler="ours"))
        await until(lambda: live._read_api and live._read_api.log.bound["ours"])
        ((_, decision),) = live._read_api.log.newest_first()
        assert (decision.key, decision.node, decision.hash) == ("default/web", "n1", text_hash(TEXT))
        connector = aiohttp.TCPConnector(ssl=False)
        async with aiohttp.ClientSession(connector=connector) as session:
            url = f"https://127.0.0.1:{live._read_api.port}/pilotage/v1/queue"
            async with session.get(url) as response:
                assert (response.status, (await response.json())["reason"]) == (401, "Unauthorized")
            async with session.get(f"{url}/nobody/knows") as response:
                assert response.status == 404
        text = live.metrics.text().decode()
        assert 'pilotage_api_requests_total{path="/queue",code="401"} 1\n' in text
        assert 'pilotage_api_requests_total{path="other",code="404"} 1\n' in text
        assert 'pilotage_api_request_duration_seconds_count{path="/queue"} 1\n' in text
        assert "pilotage_api_streams 0\n" in text


async def test_the_pod_announces_the_certificate(api: SmallApi) -> None:
    async with running(api, secure_port=0, api_port=free_port()) as live:
        assert live._read_api is not None
        await until(lambda: replicas([api.objects["pods"]["kube-system/me"]])[0].fingerprint)
        shown = await asyncio.to_thread(ssl.get_server_certificate, ("127.0.0.1", live._read_api.port))
        (own,) = replicas([api.objects["pods"]["kube-system/me"]])
        assert own.fingerprint == hashlib.sha256(ssl.PEM_cert_to_DER_cert(shown)).hexdigest()
        assert {path for method, path in api.requests if method == "PATCH"} == {
            "/api/v1/namespaces/kube-system/pods/me/status"
        }


async def test_no_certificate_is_announced_if_the_api_is_not_served(api: SmallApi) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        async with running(api, secure_port=0, api_port=taken.getsockname()[1]):
            await until(lambda: labels(api).get(LEADS) == "true")
            assert replicas([api.objects["pods"]["kube-system/me"]])[0].fingerprint == ""


async def test_a_profile_shows_the_reports_of_all_replicas(api: SmallApi) -> None:
    others = {"pilotage.dev/config-hash": "older"} | {
        "pilotage.dev/config-trouble": json.dumps({"kind": "refused", "hash": "newer", "message": "no such plugin"})
    }
    for name, annotations, release in (("me", {}, "a"), ("other", others, "a"), ("foreign", others, "b")):
        manifest = pod_manifest(name, namespace="kube-system", node="n1", annotations=annotations)
        manifest["metadata"]["labels"] = {"app.kubernetes.io/instance": release}
        api.put("pods", manifest)
    async with running(api, secure_port=0, api_port=free_port()) as live:
        assert live._read_api is not None
        found = await live._read_api._reports()
        assert sorted(found) == ["me", "other"]
        await until(lambda: live.known.pods["kube-system/me"].annotations.get("pilotage.dev/config-hash"))
        state = live._read_api._state
        reports = await live._read_api._reports()
        shown = finish(profiles(state, Stamp(datetime.now(UTC), 1), {}, reports)).items[0].replicas
        assert [(each.name, each.is_current, each.trouble) for each in shown] == [
            ("me", True, ""),
            ("other", False, "refused: no such plugin"),
        ]


async def test_without_a_port_nothing_is_recorded(api: SmallApi) -> None:
    async with running(api, secure_port=free_port()) as live:
        assert live._read_api is None
        await until(lambda: api.objects["pods"]["kube-system/me"]["metadata"].get("annotations"))
        assert LEADS not in labels(api)


async def test_a_taken_port_is_an_error_only_if_it_was_set(api: SmallApi, caplog: pytest.LogCaptureFixture) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with caplog.at_level(logging.WARNING):
            async with running(api, secure_port=free_port(), api_port=port) as live:
                assert live._read_api is not None
                assert live._read_api.port == 0
        assert "the read API is not served: cannot listen on" in caplog.text
        named = await made(api, secure_port=free_port(), api_port=port, api_port_is_wanted=True)
        with pytest.raises(CannotServe, match="--api-port"):
            await named.run(asyncio.Event())
