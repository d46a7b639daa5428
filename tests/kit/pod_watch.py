"""Pods as a watch tells of them, for tests that must not miss a moment."""

import http.client
import json
import ssl
import threading
from collections.abc import Callable
from typing import Any

from localcluster.record import Cluster

Tell = Callable[[str, Any], None]  # MODIFIED or DELETED, and the pod


class PodWatch:
    """Tells of every change of some pods, in the order in which they happened, from a thread."""

    def __init__(self, cluster: Cluster, path: str, tell: Tell) -> None:
        tls = ssl.create_default_context(cafile=cluster.pki / "ca.crt")
        tls.load_cert_chain(cluster.pki / "admin.crt", cluster.pki / "admin.key")
        self._connection = http.client.HTTPSConnection(cluster.host, cluster.ports.api, context=tls, timeout=3600)
        self._path, self._tell = path, tell
        self._thread = threading.Thread(target=self._run, name="pod watch", daemon=True)
        self._stopped = False
        self._known: dict[str, Any] = {}  # by uid

    def start(self) -> None:
        """Begin with what is there."""
        self._thread.start()

    def stop(self) -> None:
        """End; nothing is told any more."""
        self._stopped = True
        if self._connection.sock is not None:
            self._connection.sock.shutdown(2)
        self._thread.join(10)
        self._connection.close()

    def _run(self) -> None:
        while not self._stopped:
            try:
                self._follow(self._list())
            except (OSError, ValueError, http.client.HTTPException):
                self._connection.close()  # a server hangs up on who reads slowly; the next list tells what was missed

    def _list(self) -> str:
        answer = self._asked(self._path)
        found = json.loads(answer.read())
        now = {pod["metadata"]["uid"] for pod in found["items"]}
        for uid in self._known.keys() - now:
            self._tell("DELETED", self._known.pop(uid))
        for pod in found["items"]:
            self._seen(pod)
        return str(found["metadata"]["resourceVersion"])

    def _follow(self, version: str) -> None:
        for line in self._asked(f"{self._path}?watch=true&timeoutSeconds=3600&resourceVersion={version}"):
            event = json.loads(line)
            if event["type"] == "DELETED":
                self._known.pop(event["object"]["metadata"]["uid"], None)
                self._tell("DELETED", event["object"])
            elif event["type"] == "ERROR":
                return
            else:
                self._seen(event["object"])

    def _seen(self, pod: Any) -> None:
        self._known[pod["metadata"]["uid"]] = pod
        self._tell("MODIFIED", pod)

    def _asked(self, path: str) -> http.client.HTTPResponse:
        self._connection.request("GET", path)
        answer = self._connection.getresponse()
        if answer.status != http.HTTPStatus.OK:
            raise ValueError(answer.status)
        return answer
