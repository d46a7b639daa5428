"""Pods for one scheduler, at a constant rate, each deleted after its lifetime."""

import http.client
import json
import ssl
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self

from kit.commands import Manifest
from localcluster.record import Cluster


class Feed:
    """Creates pods at a rate, from a thread, and deletes each after `life` seconds; `pod` makes the one of a number."""

    def __init__(
        self, cluster: Cluster, namespace: str, pod: Callable[[int], Manifest], rate: float, life: float
    ) -> None:
        self.created = 0
        self._tls = ssl.create_default_context(cafile=cluster.pki / "ca.crt")
        self._tls.load_cert_chain(cluster.pki / "admin.crt", cluster.pki / "admin.key")
        self._connection = http.client.HTTPSConnection(cluster.host, cluster.ports.api, context=self._tls, timeout=60)
        self._collection = f"/api/v1/namespaces/{namespace}/pods"
        self._pod, self._rate, self._life = pod, rate, life
        self._alive: deque[tuple[float, str]] = deque()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="feed", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join(30)
        self._connection.close()

    def _run(self) -> None:
        began = time.monotonic()
        while not self._stop.wait(0.01):
            now = time.monotonic()
            # A server that is slower than the rate never lets it catch up: it must hear of the end all the same.
            while self.created < (now - began) * self._rate and not self._stop.is_set():
                self._create(now)
            while self._alive and self._alive[0][0] <= now and not self._stop.is_set():
                self._delete(self._alive.popleft()[1])

    def _create(self, now: float) -> None:
        pod = self._pod(self.created)
        self._send("POST", self._collection, pod)
        self.created += 1
        self._alive.append((now + self._life, pod["metadata"]["name"]))

    def _delete(self, name: str) -> None:
        self._send("DELETE", f"{self._collection}/{name}", {"gracePeriodSeconds": 1})

    def _send(self, verb: str, path: str, body: Mapping[str, Any]) -> None:
        self._connection.request(verb, path, json.dumps(body), {"Content-Type": "application/json"})
        self._connection.getresponse().read()
