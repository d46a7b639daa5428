"""The read API of a real replica, as somebody with a token sees it."""

import http.client
import json
import ssl
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

PATIENCE = 60.0  # seconds
PREFIX = "/pilotage/v1"


def any_certificate() -> ssl.SSLContext:
    """Return what accepts whatever a server shows."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


@dataclass(frozen=True)
class Door:
    """The API of one replica, for somebody with a token."""

    port: int
    token: str
    headers: Mapping[str, str] = field(default_factory=dict)

    def ask(self, path: str) -> tuple[int, Any]:
        """Return status and body of an answer."""
        with closing(self.open(path)) as connection:
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())

    def get(self, path: str) -> Any:
        """Return an answer that must be there."""
        status, body = self.ask(path)
        assert status == 200, body
        return body

    def open(self, path: str, *, verb: str = "GET", body: bytes | None = None) -> http.client.HTTPSConnection:
        """Send a question, whose answer is still to be read."""
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=any_certificate(), timeout=PATIENCE)
        known = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        connection.request(verb, PREFIX + path, body, {**known, **self.headers})
        return connection
