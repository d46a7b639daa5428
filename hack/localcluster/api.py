"""The few questions that starting a cluster asks its API server.

By hand: the keeper that asks lives as long as its cluster, and the official client would double its memory.
"""

import json
import ssl
import urllib.error
import urllib.request
from typing import Any

from localcluster.record import Cluster


class Api:
    """The API server, seen as the cluster's admin."""

    def __init__(self, cluster: Cluster) -> None:
        self._server = cluster.server
        self._tls = ssl.create_default_context(cafile=cluster.pki / "ca.crt")
        self._tls.load_cert_chain(cluster.pki / "admin.crt", cluster.pki / "admin.key")
        # No proxy that this machine may have knows the way to its own loopback.
        handlers = urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=self._tls)
        self._opener = urllib.request.build_opener(*handlers)

    def answers(self, path: str) -> bool:
        """Whether a GET succeeds."""
        return self._get(path) is not None

    def schedulable_nodes(self) -> set[str]:
        """Nodes that are Ready and no longer tainted as new."""
        listing = json.loads(self._get("/api/v1/nodes") or b'{"items": []}')
        return {node["metadata"]["name"] for node in listing["items"] if _is_schedulable(node)}

    def _get(self, path: str) -> bytes | None:
        try:
            with self._opener.open(self._server + path, timeout=5) as answer:
                content: bytes = answer.read()
                return content
        except (OSError, urllib.error.URLError):
            return None


def _is_schedulable(node: dict[str, Any]) -> bool:
    ready = any(c["type"] == "Ready" and c["status"] == "True" for c in node["status"].get("conditions", []))
    new = any(taint["key"] == "node.kubernetes.io/not-ready" for taint in node["spec"].get("taints", []))
    return ready and not new
