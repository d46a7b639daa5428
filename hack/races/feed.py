"""Pods for one scheduler, at a constant rate, each deleted after its lifetime."""

import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self

from kit.admin import Admin, Refused
from kit.commands import Manifest
from localcluster.record import Cluster


class Feed:
    """Creates pods at a rate, from a thread, and deletes each after `life` seconds; `pod` makes the one of a number."""

    def __init__(
        self, cluster: Cluster, namespace: str, pod: Callable[[int], Manifest], rate: float, life: float
    ) -> None:
        self.created = 0
        self._admin = Admin(cluster)
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
        self._admin.close()

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
        with suppress(Refused):  # a pod more or less
            self._admin.post(self._collection, pod)
        self.created += 1
        self._alive.append((now + self._life, pod["metadata"]["name"]))

    def _delete(self, name: str) -> None:
        with suppress(Refused):
            self._admin.delete(f"{self._collection}/{name}", gracePeriodSeconds=1)
