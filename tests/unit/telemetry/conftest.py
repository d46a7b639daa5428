"""A server with a certificate of its own authority, and a client that trusts it."""

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import pytest
from yarl import URL

from localcluster.pki import Authority, Identity
from pilotage.telemetry.health import Check, Health, ping
from pilotage.telemetry.pages import Content, Pages
from pilotage.telemetry.server import Denial, Guard, Limits, Server
from pilotage.telemetry.serving_certificate import ServingCertificate, TlsSettings


class OpenDoor:
    """Lets everybody in."""

    async def judge(
        self, method: str, path: str, headers: Mapping[str, Sequence[str]], peer_certificate: bytes | None
    ) -> Denial | None:
        return None


@dataclass
class Served:
    """A running server, seen from outside."""

    server: Server
    trust: ssl.SSLContext
    sessions: list[aiohttp.ClientSession] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.server.port}"

    def session(self, trust: ssl.SSLContext | None = None) -> aiohttp.ClientSession:
        session = aiohttp.ClientSession(self.url, connector=aiohttp.TCPConnector(ssl=trust or self.trust))
        self.sessions.append(session)
        return session

    async def ask(self, path: str, method: str = "GET", **settings: Any) -> tuple[int, str]:
        async with self.session().request(method, URL(self.url + path, encoded=True), **settings) as response:
            return response.status, await response.text()


Serve = Callable[..., Awaitable[Served]]


def make_content(**changes: Any) -> Content:
    """What an app would give, with the checks of a kube-scheduler that elects a leader."""
    checks: dict[str, dict[str, Check]] = {
        "healthz": {"leaderElection": ping},
        "livez": {"ping": ping},
        "readyz": {"leaderElection": ping, "shutdown": ping, "sched-handler-sync": ping},
    }
    plain: dict[str, Any] = {
        "health": Health(checks),
        "metrics": lambda: b"scheduler_pending_pods 3\n",
        "reset_metrics": lambda: None,
        "resource_metrics": lambda: b"",
        "configuration": lambda: {"kind": "KubeSchedulerConfiguration"},
        "flags": {"v": "2", "secure-port": "10259"},
        "version": "0.1.0",
        "emulates": "1.37",
    }
    return Content(**(plain | changes))


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    authority = Authority(tmp_path_factory.mktemp("pki"))
    authority.issue([Identity("server", "scheduler", "", ("localhost", "127.0.0.1"))])
    return authority


@pytest.fixture
async def serve(authority: Authority) -> AsyncIterator[Serve]:
    folder = authority.folder
    running: list[Served] = []

    async def start(
        *,
        guard: Guard | None = None,
        limits: Limits | None = None,
        certificate: ServingCertificate | None = None,
        **changes: Any,
    ) -> Served:
        certificate = certificate or ServingCertificate(
            TlsSettings(str(folder / "server.crt"), str(folder / "server.key"))
        )
        server = Server(
            Pages(make_content(**changes)),
            guard or OpenDoor(),
            certificate,
            limits=limits or Limits(),
            refresh_every=0.01,
        )
        await server.start("127.0.0.1", 0)
        trust = ssl.create_default_context(cafile=str(folder / "ca.crt"))
        running.append(Served(server, trust))
        return running[-1]

    yield start
    for served in running:
        for session in served.sessions:
            await session.close()
        await served.server.stop(1.0)
