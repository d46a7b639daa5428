"""Pushes images to a registry by the OCI distribution specification, without an engine."""

import http.client
import io
import ipaddress
import json
import re
import ssl
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import BinaryIO

from images.credentials import Login
from images.oci_archive import Blob, Image, Manifest
from localcluster.errors import Problem

SECONDS = 300.0
PATH = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
NAME = re.compile(rf"(?P<host>[A-Za-z0-9.-]+(?::\d+)?|\[[0-9a-fA-F:]+\](?::\d+)?)(?P<path>(?:/{PATH})*)")
TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
API_HOSTS = {"docker.io": "registry-1.docker.io"}
MOST_READ = 1 << 20  # of an answer: tokens and complaints are small
Told = Callable[[int], None]
Body = Callable[[], BinaryIO]


@dataclass(frozen=True)
class Answer:
    """What a registry said."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    def header(self, name: str) -> str:
        """The value of a header, whose name may be written in any case; empty if there is none."""
        return next((value for key, value in self.headers.items() if key.lower() == name.lower()), "")


@dataclass(frozen=True)
class Address:
    """Where images go: a host with a path, and how it is spoken to."""

    scheme: str
    host: str
    path: str

    @property
    def name(self) -> str:
        """What stands before the name of an image."""
        return f"{self.host}{self.path}"

    @property
    def url(self) -> str:
        """The beginning of every request."""
        return f"{self.scheme}://{API_HOSTS.get(self.host, self.host)}"


def parse_address(text: str) -> Address:
    """Read `localhost:5000` or `registry.example.com/team`; plain HTTP on this machine, or where it is asked for."""
    scheme, found, rest = text.partition("://")
    name = NAME.fullmatch((rest if found else text).rstrip("/"))
    if not name or (found and scheme not in ("http", "https")):
        raise Problem(
            f"{text!r} is not the address of a registry; write a host with a path, in lower case: "
            "REGISTRY=registry.example.com/team or REGISTRY=localhost:5000"
        )
    host, path = name["host"], name["path"]
    return Address(scheme if found else "http" if _is_loopback(host) else "https", host, path)


def check_tag(tag: str) -> None:
    """Reject invalid tags."""
    if not TAG.fullmatch(tag):
        raise Problem(f"{tag!r} is not a valid tag; use up to 128 letters, digits, '.', '_' and '-': TAG=1.0.0")


def _is_loopback(host: str) -> bool:
    bare = re.sub(r":\d+$", "", host).strip("[]")
    try:
        return bare == "localhost" or ipaddress.ip_address(bare).is_loopback
    except ValueError:
        return False


class _NoDetours(urllib.request.HTTPRedirectHandler):
    """Follows no redirects: the password is only for the registry itself."""

    def redirect_request(self, *_: object) -> None:
        """Return the response unchanged."""


class Registry:
    """One repository of a registry, and the right to write to it."""

    def __init__(self, address: Address, repository: str, login: Login | None) -> None:
        self._address, self._login = address, login
        self._repository = f"{address.path}/{repository}".strip("/")
        self._authorization = ""
        # What is on this machine is not behind a proxy.
        proxies = [urllib.request.ProxyHandler({})] if _is_loopback(address.host) else []
        self._opener = urllib.request.build_opener(_NoDetours, *proxies)

    def check(self) -> None:
        """A Problem if there is no response."""
        self._send("GET", f"{self._address.url}/v2/", {}, None)

    def push(self, image: Image, tag: str, told: Told) -> str:
        """Push missing blobs and manifests, and tag the last manifest; returns its digest."""
        for blob in image.blobs:
            if not self._has(blob):
                self._upload(blob)
            told(blob.size)
        for manifest in image.manifests[:-1]:
            self._put(manifest, manifest.digest)
        self._put(image.manifests[-1], tag)
        return image.manifests[-1].digest

    def _has(self, blob: Blob) -> bool:
        # A registry that keeps its blobs elsewhere sends us there; it would not if it had none.
        return self._ask("HEAD", f"/blobs/{blob.digest}", accept=(200, 302, 307, 404)).status != 404

    def _upload(self, blob: Blob) -> None:
        place = self._ask("POST", "/blobs/uploads/", accept=(202,)).header("Location")
        separator = "&" if "?" in place else "?"
        url = urllib.parse.urljoin(self._url("/blobs/uploads/"), place)
        size = {"Content-Length": str(blob.size), "Content-Type": "application/octet-stream"}
        self._ask("PUT", f"{url}{separator}digest={blob.digest}", size, blob.open, accept=(201,))

    def _put(self, manifest: Manifest, reference: str) -> None:
        kind = {"Content-Type": manifest.media_type, "Content-Length": str(len(manifest.content))}
        self._ask("PUT", f"/manifests/{reference}", kind, lambda: io.BytesIO(manifest.content), accept=(201,))

    def _url(self, path: str) -> str:
        return f"{self._address.url}/v2/{self._repository}{path}"

    def _ask(
        self,
        method: str,
        where: str,
        headers: Mapping[str, str] | None = None,
        body: Body | None = None,
        *,
        accept: tuple[int, ...],
    ) -> Answer:
        """Send a request, and repeat it with a token if the registry requires one."""
        url = where if "://" in where else self._url(where)
        answer = self._send(method, url, dict(headers or {}), body)
        if answer.status == 401:
            self._authorization = self._authorize(answer.header("WWW-Authenticate"))
            answer = self._send(method, url, dict(headers or {}), body)
        if answer.status not in accept:
            raise self._refusal(method, answer)
        return answer

    def _send(self, method: str, url: str, headers: dict[str, str], body: Body | None) -> Answer:
        if self._authorization and urllib.parse.urlsplit(url).netloc == urllib.parse.urlsplit(self._url("")).netloc:
            headers["Authorization"] = self._authorization
        try:
            with ExitStack() as opened:
                data = opened.enter_context(body()) if body else None
                return self._read(urllib.request.Request(url, data, headers, method=method))
        except (urllib.error.URLError, OSError, http.client.HTTPException) as error:
            raise self._unreachable(error) from error

    def _read(self, request: urllib.request.Request) -> Answer:
        try:
            with self._opener.open(request, timeout=SECONDS) as response:
                return Answer(response.status, dict(response.headers), response.read(MOST_READ))
        except urllib.error.HTTPError as refusal:
            with refusal:
                return Answer(refusal.code, dict(refusal.headers), refusal.read(MOST_READ))

    def _authorize(self, challenge: str) -> str:
        kind, _, rest = challenge.partition(" ")
        if kind.lower() == "basic" and self._login:
            return self._login.basic()
        if kind.lower() != "bearer":
            raise self._nobody()
        asked = dict(re.findall(r'(\w+)="([^"]*)"', rest))
        query = {"service": asked.get("service", ""), "scope": f"repository:{self._repository}:pull,push"}
        headers = {"Authorization": self._login.basic()} if self._login else {}
        url = f"{asked.get('realm', '')}?{urllib.parse.urlencode(query)}"
        if not url.startswith(("https://", f"{self._address.scheme}://")):
            raise Problem(f"{self._address.host} refers to {url!r} for a token, which is not safe for a password")
        answer = self._send("GET", url, headers, None)
        if answer.status != 200:
            raise self._nobody()
        document = json.loads(answer.content)
        return f"Bearer {document.get('token') or document['access_token']}"

    def _nobody(self) -> Problem:
        known = f"knows no user {self._login.user!r} with that password" if self._login else "asks who you are"
        return Problem(f"{self._address.host} {known}; run: docker login {self._address.host} (it writes config.json)")

    def _refusal(self, method: str, answer: Answer) -> Problem:
        said = answer.content[:2000].decode(errors="replace").strip()
        what = f"{self._address.host} refuses {self._repository}"
        if answer.status in (401, 403):
            user = f"the user {self._login.user!r}" if self._login else "an anonymous user"
            return Problem(
                f"{what}: {user} may not push there (status {answer.status}); "
                f"choose a path of yours in REGISTRY, or run: docker login {self._address.host}"
            )
        if answer.status == 404:
            return Problem(f"{what}: it does not exist; create the project first, or correct REGISTRY ({said})")
        return Problem(f"{what}: {method} returned status {answer.status}: {said}")

    def _unreachable(self, error: Exception) -> Problem:
        reason = getattr(error, "reason", None) or error
        if isinstance(reason, ssl.SSLCertVerificationError):
            fix = "set SSL_CERT_FILE to the certificates of its CA"
        elif isinstance(reason, ssl.SSLError):
            fix = f"if it serves plain HTTP, say so: REGISTRY=http://{self._address.name}"
        else:
            fix = "check that it runs and that the address is correct"
        return Problem(f"the registry {self._address.url} cannot be used ({reason}); {fix}")
