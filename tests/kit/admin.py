"""The cluster's admin over one kept-open connection: tests that look often cannot pay a kubectl for each look."""

import http.client
import json
import ssl
from typing import Any

from kit.commands import CommandFailed, Manifest
from localcluster.record import Cluster

MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"


class Admin:
    """Reads and changes objects by their paths; a refusal is raised with the server's answer."""

    def __init__(self, cluster: Cluster) -> None:
        tls = ssl.create_default_context(cafile=cluster.pki / "ca.crt")
        tls.load_cert_chain(cluster.pki / "admin.crt", cluster.pki / "admin.key")
        self._connection = http.client.HTTPSConnection(cluster.host, cluster.ports.api, context=tls, timeout=60)

    def get(self, path: str) -> Any:
        """Return an object or a list of them."""
        return self._ask("GET", path)

    def find(self, path: str) -> Any:
        """Return an object, or None if there is none."""
        return self._ask("GET", path, missing_is_fine=True)

    def post(self, path: str, manifest: Manifest) -> Any:
        """Create an object."""
        return self._ask("POST", path, manifest)

    def patch(self, path: str, change: Manifest, kind: str = MERGE_PATCH) -> Any:
        """Change an object."""
        return self._ask("PATCH", path, change, kind)

    def delete(self, path: str, **options: Any) -> None:
        """Delete an object or a collection; what is gone already is fine."""
        self._ask("DELETE", path, {"apiVersion": "v1", "kind": "DeleteOptions", **options}, missing_is_fine=True)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _ask(
        self,
        verb: str,
        path: str,
        body: Manifest | None = None,
        kind: str = "application/json",
        missing_is_fine: bool = False,
    ) -> Any:
        headers = {"Content-Type": kind} if body is not None else {}
        self._connection.request(verb, path, None if body is None else json.dumps(body), headers)
        answer = self._connection.getresponse()
        content = answer.read()
        if answer.status == http.HTTPStatus.NOT_FOUND and missing_is_fine:
            return None
        if answer.status >= http.HTTPStatus.BAD_REQUEST:
            raise CommandFailed(f"{verb} {path}: {answer.status} {content.decode(errors='replace')}")
        return json.loads(content)
