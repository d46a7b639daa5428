"""A scheduler's read API for tests: it says what it was told to say, over TLS as a real one."""

import hashlib
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from pilotage.cluster.kubectl.scheduler_client import PREFIX
from pilotage.telemetry.serving_certificate import ServingCertificate, TlsSettings

ACCESS = {"kind": "Access", "at": "2026-01-01T00:00:00Z", "revision": 1, "source": "live", "user": "jane"}


class StandInScheduler:
    """Answers by path; what it does not know is 404, as a Status."""

    def __init__(self) -> None:
        self.answers: dict[str, Any] = {"/access": ACCESS}
        self.refusals: dict[str, int] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.bodies: list[dict[str, Any]] = []  # of what was posted
        self.headers: list[dict[str, str]] = []
        self.port = 0

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"https://127.0.0.1:{self.port}"

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of its certificate."""
        shown = ssl.get_server_certificate(("127.0.0.1", self.port))
        return hashlib.sha256(ssl.PEM_cert_to_DER_cert(shown)).hexdigest()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer one question."""
        path = request.path.removeprefix(PREFIX)
        self.asked.append((path, dict(request.query)))
        self.headers.append(dict(request.headers))
        if request.method == "POST":
            self.bodies.append(await request.json())
        status = self.refusals.get(path, 200 if path in self.answers else 404)
        if status != 200:
            told = {"kind": "Status", "code": status, "message": f"{path}: the scheduler says {status}"}
            return web.json_response(told, status=status)
        return web.json_response(self.answers[path])


@asynccontextmanager
async def stand_in_scheduler() -> AsyncIterator[StandInScheduler]:
    """Serve such an API on a port of its own."""
    scheduler = StandInScheduler()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", scheduler.handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0)
    await runner.setup()
    try:
        context = ServingCertificate(TlsSettings()).context
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
        scheduler.port = runner.addresses[0][1]
        yield scheduler
    finally:
        await runner.cleanup()
