"""A client of the read API of a scheduler, over a forwarded port or at an address."""

import asyncio
import hashlib
import http.client
import json
import ssl
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit

from pilotage.cluster.kubectl.identity import Identity
from pilotage.cluster.kubectl.refusals import NOT_FOUND, NotReached, Refused

PREFIX = "/pilotage/v1"
TIMEOUT = 60.0  # seconds
LARGEST_ANSWER = 64 << 20
LOOPBACK = ("127.0.0.1", "::1", "localhost")
OLD = "older releases have no read API; upgrade, or use --source local"
_NOTHING: Mapping[str, str] = {}


class SchedulerClient:
    """Asks one replica; the answers are the JSON of docs/api.md.

    `fingerprint` is the SHA-256 of the expected certificate. Without one, the certificate must be of an authority that
    this machine trusts, except at a loopback address, where kubectl's tunnel vouches for the server.
    """

    def __init__(self, address: str, identity: Identity, *, fingerprint: str = "", agent: str = "pilotage") -> None:
        found = urlsplit(address)
        if found.scheme != "https" or not found.hostname:
            raise NotReached(f"{address!r} is not the address of a scheduler; use https://HOST:PORT")
        self.address = address
        self._host, self._port, self._base = found.hostname, found.port or 443, found.path.rstrip("/")
        self._fingerprint = fingerprint.lower()
        self._tls = ssl.create_default_context()
        if fingerprint or found.hostname in LOOPBACK:
            self._tls.check_hostname = False
            self._tls.verify_mode = ssl.CERT_NONE
        identity.show(self._tls)
        self._headers = {"Accept": "application/json", "User-Agent": agent}
        if identity.authorization:
            self._headers["Authorization"] = identity.authorization

    async def get(self, path: str, query: Mapping[str, str] = _NOTHING) -> dict[str, Any]:
        """Return the answer for a path below the prefix; Refused or NotReached if there is none."""
        kept = {name: value for name, value in query.items() if value}
        return await asyncio.to_thread(self._ask, "GET", f"{path}?{urlencode(kept)}" if kept else path, b"")

    async def post(self, path: str, body: bytes) -> dict[str, Any]:
        """Return the answer to a document."""
        return await asyncio.to_thread(self._ask, "POST", path, body)

    def _ask(self, verb: str, target: str, body: bytes) -> dict[str, Any]:
        connection = http.client.HTTPSConnection(self._host, self._port, timeout=TIMEOUT, context=self._tls)
        try:
            connection.connect()
            self._check(connection)
            headers = self._headers | ({"Content-Type": "application/json"} if body else {})
            connection.request(verb, f"{self._base}{PREFIX}{target}", body or None, headers)
            answer = connection.getresponse()
            content = answer.read(LARGEST_ANSWER)
        except (ssl.SSLEOFError, ConnectionResetError, http.client.RemoteDisconnected) as error:
            raise NotReached(f"its port does not respond; {OLD}") from error
        except (OSError, http.client.HTTPException) as error:
            raise NotReached(f"the scheduler at {self.address} does not respond: {error}") from error
        finally:
            connection.close()
        return _read(answer.status, content)

    def _check(self, connection: http.client.HTTPSConnection) -> None:
        """Refuse an unexpected certificate before anything is sent."""
        if not self._fingerprint:
            return
        shown = connection.sock.getpeercert(binary_form=True) or b""
        if hashlib.sha256(shown).hexdigest() != self._fingerprint:
            raise NotReached(
                "the scheduler's certificate is not the one in its pod's annotation; nothing was sent to it"
            )


def _read(status: int, content: bytes) -> dict[str, Any]:
    try:
        found = json.loads(content)
    except ValueError:
        found = None
    is_map = isinstance(found, dict)
    if status == 200 and isinstance(found, dict):
        return found
    said = str(found.get("message", "")) if isinstance(found, dict) else ""
    if status == NOT_FOUND and not is_map:
        raise NotReached(f"the server is not a read API; {OLD}")
    raise Refused(status, said or f"it answered with {status} and no message")
