"""The cluster's admin through the official client: tests that look often cannot pay a kubectl for each look."""

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from pathlib import Path
from typing import Any, Protocol

from kubernetes.client import ApiClient, ApiException, Configuration
from urllib3 import BaseHTTPResponse
from urllib3.exceptions import HTTPError

from kit.commands import CommandFailed, Manifest

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
CONNECTIONS = 8  # a thousand pods in seconds
LONGEST_SILENCE = 3600.0  # seconds, of a watch


class Refused(CommandFailed):
    """The API server said no."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status

    @property
    def may_pass(self) -> bool:
        """Tell whether another try could help."""
        return self.status >= HTTPStatus.INTERNAL_SERVER_ERROR or self.status == HTTPStatus.TOO_MANY_REQUESTS


class NoAnswer(CommandFailed):
    """The API server said nothing."""


class Server(Protocol):
    """Where to ask, and the folder of the certificates; a cluster is one."""

    @property
    def server(self) -> str: ...
    @property
    def pki(self) -> Path: ...


class Admin:
    """Reads and changes objects as they are, by their paths; threads may share it."""

    def __init__(self, cluster: Server, seconds: float = 60) -> None:
        self._server, self._seconds = cluster.server, seconds
        configuration = Configuration(
            host=cluster.server,
            ssl_ca_cert=str(cluster.pki / "ca.crt"),
            cert_file=str(cluster.pki / "admin.crt"),
            key_file=str(cluster.pki / "admin.key"),
            connection_pool_maxsize=CONNECTIONS,
            retries=False,  # whoever asks knows whether to ask again
            proxy="",  # no proxy knows the way to this machine's own loopback
        )
        self._client = ApiClient(configuration)

    def get(self, path: str) -> Any:
        """Return an object or a list of them."""
        return json.loads(self.ask("GET", path))

    def find(self, path: str) -> Any:
        """Return an object, or None if there is none."""
        try:
            return self.get(path)
        except Refused as refused:
            if refused.status == HTTPStatus.NOT_FOUND:
                return None
            raise

    def post(self, path: str, manifest: Manifest) -> Any:
        """Create an object."""
        return json.loads(self.ask("POST", path, manifest))

    def create(self, manifests: Sequence[Manifest]) -> None:
        """Create nodes or pods, many at a time; the first refusal is raised."""
        with ThreadPoolExecutor(CONNECTIONS) as pool:
            for _ in pool.map(lambda each: self.post(collection_of(each), each), manifests):
                pass

    def patch(self, path: str, change: Manifest, kind: str = MERGE_PATCH) -> Any:
        """Change an object."""
        return json.loads(self.ask("PATCH", path, change, kind))

    def delete(self, path: str, **options: Any) -> None:
        """Delete an object or a collection; what is gone already is fine."""
        try:
            self.ask("DELETE", path, {"apiVersion": "v1", "kind": "DeleteOptions", **options})
        except Refused as refused:
            if refused.status != HTTPStatus.NOT_FOUND:
                raise

    def ask(self, verb: str, path: str, body: Manifest | bytes | None = None, kind: str = JSON) -> bytes:
        """Return the server's answer as it came."""
        try:
            answer = self._sent(verb, path, body, kind, self._seconds)
            content: bytes = answer.data
        except (ApiException, HTTPError) as error:
            raise NoAnswer(f"{verb} {path}: {error}") from error
        if answer.status >= HTTPStatus.BAD_REQUEST:
            raise Refused(answer.status, f"{verb} {path}: {answer.status} {content.decode(errors='replace')}")
        return content

    def follow(self, path: str) -> BaseHTTPResponse:
        """Return an answer that goes on, to be read line by line and closed."""
        answer = self._sent("GET", path, None, JSON, LONGEST_SILENCE)
        if answer.status != HTTPStatus.OK:
            raise Refused(answer.status, f"GET {path}: {answer.status}")
        return answer

    def close(self) -> None:
        """Close the connections."""
        self._client.close()  # type: ignore[no-untyped-call] # the client's own lack

    def _sent(self, verb: str, path: str, body: Manifest | bytes | None, kind: str, seconds: float) -> BaseHTTPResponse:
        headers = {"Accept": JSON, "Content-Type": kind}
        url = f"{self._server}{path}"
        answer = self._client.call_api(verb, url, headers, body, _request_timeout=(seconds, seconds))
        response: BaseHTTPResponse = answer.response
        return response


def collection_of(manifest: Manifest) -> str:
    """Return the path of all nodes, or of all pods of a pod's namespace."""
    if manifest["kind"] == "Node":
        return "/api/v1/nodes"
    return f"/api/v1/namespaces/{manifest['metadata']['namespace']}/pods"
