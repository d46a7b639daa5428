"""A client of the API that asks again until it is answered: for tests in which the API server comes and goes."""

import http.client
import json
import ssl
import time
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from localcluster.record import Cluster

ANSWER_SECONDS = 10.0
PAUSE = 0.2
PASSING = {HTTPStatus.TOO_MANY_REQUESTS}


class NoAnswer(AssertionError):
    """The API server did not come back in time."""


class Refused(AssertionError):
    """The API server said no."""


class PatientClient:
    """One connection of the cluster's admin; for one thread."""

    def __init__(self, cluster: Cluster, seconds: float = 180) -> None:
        self._address = (cluster.host, cluster.ports.api)
        self._tls = ssl.create_default_context(cafile=cluster.pki / "ca.crt")
        self._tls.load_cert_chain(cluster.pki / "admin.crt", cluster.pki / "admin.key")
        self._seconds = seconds
        self._connection: http.client.HTTPSConnection | None = None

    def create(self, manifest: Mapping[str, Any]) -> str:
        """Create a pod or a node and return its uid; one of that name that is on its way out is waited for."""
        meta = manifest["metadata"]
        path = f"/api/v1/namespaces/{meta['namespace']}/pods" if manifest["kind"] == "Pod" else "/api/v1/nodes"
        deadline = time.monotonic() + self._seconds
        while True:
            status, made = self.ask("POST", path, manifest, expect=(201, 409))
            if status == HTTPStatus.CONFLICT:
                status, made = self.ask("GET", f"{path}/{meta['name']}", expect=(200, 404))
            # One that is there already was made by an attempt of ours whose answer was lost.
            if status != HTTPStatus.NOT_FOUND and "deletionTimestamp" not in made["metadata"]:
                return str(made["metadata"]["uid"])
            if time.monotonic() > deadline:
                raise NoAnswer(f"{path}/{meta['name']} is not gone after {self._seconds:g} s")
            time.sleep(PAUSE)

    def delete(self, path: str) -> None:
        """Delete at once; what is not there is no failure."""
        self.ask("DELETE", f"{path}?gracePeriodSeconds=0", expect=(200, 404))

    def patch(self, path: str, change: Mapping[str, Any]) -> None:
        """Change parts of an object, if it is there."""
        self.ask("PATCH", path, change, expect=(200, 404))

    def items(self, path: str) -> list[dict[str, Any]]:
        """List objects."""
        items: list[dict[str, Any]] = self.ask("GET", path)[1]["items"]
        return items

    def ask(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, expect: tuple[int, ...] = (200,)
    ) -> tuple[int, Any]:
        """Ask until there is an answer, and return its status and content."""
        deadline = time.monotonic() + self._seconds
        while True:
            why, status, content = self._ask_once(method, path, body)
            if status in expect:
                return status, content
            if status and status < HTTPStatus.INTERNAL_SERVER_ERROR and status not in PASSING:
                raise Refused(f"{method} {path}: {status} {content}")
            if time.monotonic() > deadline:
                raise NoAnswer(f"{method} {path}: no response within {self._seconds:g} s: {why or content}")
            time.sleep(PAUSE)

    def close(self) -> None:
        """Close the connection."""
        if self._connection:
            self._connection.close()
            self._connection = None

    def _ask_once(self, method: str, path: str, body: Mapping[str, Any] | None) -> tuple[str, int, Any]:
        if self._connection is None:
            self._connection = http.client.HTTPSConnection(*self._address, context=self._tls, timeout=ANSWER_SECONDS)
        kind = "application/strategic-merge-patch+json" if method == "PATCH" else "application/json"
        try:
            self._connection.request(method, path, json.dumps(body) if body else None, {"Content-Type": kind})
            answer = self._connection.getresponse()
            return "", answer.status, json.loads(answer.read() or b"{}")
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.close()
            return f"{type(error).__name__}: {error}", 0, None
