"""Creates many objects fast: kubectl makes a thousand in minutes, a few kept-open connections in seconds."""

import http.client
import json
import ssl
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from kit.commands import CommandFailed, Manifest
from localcluster.record import Cluster

CONNECTIONS = 8
COLLECTIONS = {"Node": "/api/v1/nodes", "Pod": "/api/v1/namespaces/{namespace}/pods"}


class Bulk:
    """Connections of the cluster's admin, one per thread."""

    def __init__(self, cluster: Cluster) -> None:
        self._address = (cluster.host, cluster.ports.api)
        self._tls = ssl.create_default_context(cafile=cluster.pki / "ca.crt")
        self._tls.load_cert_chain(cluster.pki / "admin.crt", cluster.pki / "admin.key")
        self._own = threading.local()
        self._opened: list[http.client.HTTPSConnection] = []

    def create(self, manifests: Sequence[Manifest]) -> None:
        """Create nodes or pods; the first refusal is raised with the server's answer."""
        with ThreadPoolExecutor(CONNECTIONS) as pool:
            for _ in pool.map(self._create_one, manifests):
                pass

    def close(self) -> None:
        """Close the connections."""
        for connection in self._opened:
            connection.close()

    def _create_one(self, manifest: Manifest) -> None:
        path = COLLECTIONS[manifest["kind"]].format(namespace=manifest["metadata"].get("namespace"))
        connection = self._connection()
        connection.request("POST", path, json.dumps(manifest), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        body = answer.read().decode()
        if answer.status != http.HTTPStatus.CREATED:
            raise CommandFailed(f"{manifest['kind']} {manifest['metadata']['name']} was not created: {body}")

    def _connection(self) -> http.client.HTTPSConnection:
        if not hasattr(self._own, "connection"):
            self._own.connection = http.client.HTTPSConnection(*self._address, context=self._tls, timeout=60)
            self._opened.append(self._own.connection)
        connection: http.client.HTTPSConnection = self._own.connection
        return connection
