"""The server and its guard together, over real connections: who gets which page."""

import json
import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from localcluster.pki import Authority, Identity
from pilotage.cluster.credentials.delegated_auth import TOKEN_REVIEWS, AuthSettings, DelegatedAuth
from pilotage.cluster.credentials.trust_source import TrustSettings
from pilotage.cluster.transport.api_errors import Unreachable
from pilotage.telemetry.serving_certificate import ServingCertificate, TlsSettings


@dataclass
class FakeApi:
    """Knows one token, whose user may get /metrics."""

    asked: list[str] = field(default_factory=list)
    is_away: bool = False

    async def post(self, path: str, body: bytes) -> bytes:
        self.asked.append(path)
        if self.is_away:
            raise Unreachable("refused")
        spec = json.loads(body)["spec"]
        if path == TOKEN_REVIEWS:
            status: dict[str, Any] = {"authenticated": spec["token"] == "good", "user": {"username": "prometheus"}}
        else:
            wanted = {"path": "/metrics", "verb": "get"}
            status = {"allowed": spec["user"] == "prometheus" and spec["nonResourceAttributes"] == wanted}
        return json.dumps({"status": status}).encode()

    async def get(self, path: str) -> bytes:
        raise AssertionError

    async def patch(self, path: str, body: bytes) -> bytes:
        raise AssertionError

    async def delete(self, path: str, body: bytes) -> bytes:
        raise AssertionError


@pytest.fixture
def api() -> FakeApi:
    return FakeApi()


@pytest.fixture
async def served(serve: Any, api: FakeApi, authority: Authority) -> Any:
    folder = authority.folder
    authority.issue([Identity("admin", "kubernetes-admin", "system:masters")])
    auth = DelegatedAuth(api, AuthSettings(trust=TrustSettings(client_ca_file=str(folder / "ca.crt"), look_up=False)))
    assert await auth.refresh()
    files = TlsSettings(str(folder / "server.crt"), str(folder / "server.key"))
    certificate = ServingCertificate(files, client_authorities=auth.client_authorities)
    return await serve(guard=auth, certificate=certificate)


GOOD = {"Authorization": "Bearer good"}


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz"])
async def test_probes_are_open_also_while_the_api_server_is_away(served: Any, api: FakeApi, path: str) -> None:
    api.is_away = True
    assert await served.ask(path, headers={"Authorization": "Bearer wrong"}) == (200, "ok")
    assert api.asked == []


@pytest.mark.parametrize(
    ("method", "path", "headers", "expected"),
    [
        pytest.param("GET", "/metrics", GOOD, 200, id="metrics with rights"),
        pytest.param("GET", "/metrics", {}, 403, id="metrics without a name"),
        pytest.param("GET", "/metrics", {"Authorization": "Bearer x"}, 401, id="metrics with a wrong token"),
        pytest.param("DELETE", "/metrics", GOOD, 403, id="who may read may not reset"),
        pytest.param("GET", "/configz", GOOD, 403, id="nor read anything else"),
        pytest.param("GET", "/readyz/shutdown", {}, 403, id="reasons are for those who may know"),
        pytest.param("GET", "/nope", {}, 403, id="nor learn what does not exist"),
    ],
)
async def test_who_gets_which_page(served: Any, method: str, path: str, headers: dict[str, str], expected: int) -> None:
    assert (await served.ask(path, method, headers=headers))[0] == expected


async def test_a_token_is_looked_up_once(served: Any, api: FakeApi) -> None:
    for _ in range(3):
        assert (await served.ask("/metrics", headers=GOOD))[0] == 200
    assert api.asked.count(TOKEN_REVIEWS) == 1


async def test_a_lookup_that_fails_is_made_again(served: Any, api: FakeApi) -> None:
    api.is_away = True
    assert (await served.ask("/metrics", headers=GOOD))[0] == 401
    status, text = await served.ask("/metrics")
    assert (status, text.split(":")[:2]) == (500, ["Internal Server Error", ' "/metrics"'])
    api.is_away = False
    assert (await served.ask("/metrics", headers=GOOD))[0] == 200
    assert (await served.ask("/metrics"))[0] == 403


async def test_an_administrator_shows_a_certificate(served: Any, api: FakeApi, authority: Authority) -> None:
    folder: Path = authority.folder
    context = ssl.create_default_context(cafile=str(folder / "ca.crt"))
    context.load_cert_chain(folder / "admin.crt", folder / "admin.key")
    for path in ("/metrics", "/configz", "/readyz/shutdown"):
        assert (await served.session(context).get(path)).status == 200
    assert api.asked == []
