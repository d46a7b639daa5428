"""For tests: a registry in memory, strict about what it takes, that nodes can pull from."""

import base64
import hashlib
import json
import re
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal
from urllib.parse import parse_qs, urlsplit

Guard = Literal["nobody", "basic", "token"]
USER, PASSWORD, TOKEN = "somebody", "secret", "a-token"


class SmallRegistry(ThreadingHTTPServer):
    """What it was given, by digest and by name; it may ask who gives."""

    def __init__(self, guard: Guard = "nobody", address: str = "127.0.0.1", closed: tuple[str, ...] = ()) -> None:
        super().__init__((address, 0), _Answers)
        self.guard, self.closed = guard, closed
        self.blobs: dict[str, bytes] = {}
        self.manifests: dict[str, tuple[str, bytes]] = {}  # NAME/REFERENCE -> media type and content
        self.uploads = 0

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.server_address[1])

    @property
    def name(self) -> str:
        """What stands before the names of its images."""
        return f"localhost:{self.port}"

    def lacks(self, content: bytes, name: str) -> list[str]:
        """What a manifest names that was not given before."""
        document = json.loads(content)
        wanted = [document["config"], *document["layers"]] if "config" in document else []
        missing = [each["digest"] for each in wanted if each["digest"] not in self.blobs]
        children = document.get("manifests", [])
        return missing + [each["digest"] for each in children if f"{name}/{each['digest']}" not in self.manifests]


@contextmanager
def serving(registry: SmallRegistry) -> Iterator[SmallRegistry]:
    """Run it until the block ends."""
    thread = threading.Thread(target=registry.serve_forever, daemon=True)
    thread.start()
    try:
        yield registry
    finally:
        registry.shutdown()
        registry.server_close()
        thread.join()


class _Answers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: SmallRegistry

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        """Answer with a token, a manifest or a blob."""
        path = urlsplit(self.path).path
        if path == "/token":
            known = self.headers.get("Authorization") == _basic()
            self._answer(200 if known else 401, json.dumps({"token": TOKEN}).encode() if known else b"")
        elif self._welcome():
            kind, content = self._stored(path)
            self._answer(200 if content is not None else 404, content or b"", {"Content-Type": kind})

    do_HEAD = do_GET  # noqa: N815 - the name is Python's

    def do_POST(self) -> None:
        """Begin an upload."""
        if self._welcome():
            place = f"{urlsplit(self.path).path}{uuid.uuid4()}?state=begun"
            self._answer(202, b"", {"Location": place})

    def do_PUT(self) -> None:
        """Take a blob whose digest is right, or a manifest that names nothing unknown."""
        content = self.rfile.read(int(self.headers["Content-Length"]))
        if not self._welcome():
            return
        found = re.fullmatch(r"/v2/(.+)/manifests/(.+)", urlsplit(self.path).path)
        self._answer(*(self._manifest(found[1], found[2], content) if found else self._blob(content)))

    def _blob(self, content: bytes) -> tuple[int, bytes]:
        [digest] = parse_qs(urlsplit(self.path).query)["digest"]
        if digest != f"sha256:{hashlib.sha256(content).hexdigest()}":
            return 400, b'{"errors":[{"code":"DIGEST_INVALID"}]}'
        self.server.blobs[digest] = content
        self.server.uploads += 1
        return 201, b""

    def _manifest(self, name: str, reference: str, content: bytes) -> tuple[int, bytes]:
        if missing := self.server.lacks(content, name):
            return 400, json.dumps({"errors": [{"code": "BLOB_UNKNOWN", "detail": missing}]}).encode()
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        for each in (reference, digest):
            self.server.manifests[f"{name}/{each}"] = (self.headers["Content-Type"], content)
        return 201, b""

    def _stored(self, path: str) -> tuple[str, bytes | None]:
        if path == "/v2/":
            return "application/json", b"{}"
        name, kind, reference = path.removeprefix("/v2/").rsplit("/", 2)
        if kind == "blobs":
            return "application/octet-stream", self.server.blobs.get(reference)
        return self.server.manifests.get(f"{name}/{reference}", ("", None))

    def _welcome(self) -> bool:
        """Whether this caller may do that; answers if not."""
        given = self.headers.get("Authorization", "")
        host = f"http://localhost:{self.server.port}"
        challenges = {"basic": 'Basic realm="here"', "token": f'Bearer realm="{host}/token",service="here"'}
        wanted = {"basic": _basic(), "token": f"Bearer {TOKEN}"}
        guard = self.server.guard
        if guard != "nobody" and given != wanted[guard]:
            self._answer(401, b"", {"WWW-Authenticate": challenges[guard]})
            return False
        if any(f"/{name}/" in self.path for name in self.server.closed):
            self._answer(403, b'{"errors":[{"code":"DENIED"}]}')
            return False
        return True

    def _answer(self, status: int, content: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {**(headers or {}), "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)


def _basic() -> str:
    return "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
