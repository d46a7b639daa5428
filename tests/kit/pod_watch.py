"""Pods as a watch tells of them, for tests that must not miss a moment."""

import json
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from typing import Any

from urllib3 import BaseHTTPResponse
from urllib3.exceptions import HTTPError

from kit.admin import Admin
from kit.commands import CommandFailed
from localcluster.record import Cluster

Tell = Callable[[str, Any], None]  # MODIFIED or DELETED, and the pod


class PodWatch:
    """Tells of every change of some pods, in the order in which they happened, from a thread."""

    def __init__(self, cluster: Cluster, path: str, tell: Tell) -> None:
        self._admin, self._path, self._tell = Admin(cluster), path, tell
        self._events: BaseHTTPResponse | None = None
        self._thread = threading.Thread(target=self._run, name="pod watch", daemon=True)
        self._stopped = False
        self._known: dict[str, Any] = {}  # by uid

    def start(self) -> None:
        """Begin with what is there."""
        self._thread.start()

    def stop(self) -> None:
        """End; nothing is told any more."""
        self._stopped = True
        if self._events is not None:
            with suppress(RuntimeError, ValueError, OSError):  # it has just ended by itself
                self._events.shutdown()
        self._thread.join(10)
        self._admin.close()

    def _run(self) -> None:
        while not self._stopped:
            try:
                self._follow(self._list())
            except (CommandFailed, HTTPError, OSError, ValueError):
                continue  # a server hangs up on who reads slowly; the next list tells what was missed

    def _list(self) -> str:
        found = self._admin.get(self._path)
        now = {pod["metadata"]["uid"] for pod in found["items"]}
        for uid in self._known.keys() - now:
            self._tell("DELETED", self._known.pop(uid))
        for pod in found["items"]:
            self._seen(pod)
        return str(found["metadata"]["resourceVersion"])

    def _follow(self, version: str) -> None:
        path = f"{self._path}?watch=true&timeoutSeconds=3600&resourceVersion={version}"
        with closing(self._admin.follow(path)) as self._events:
            if self._stopped:
                return  # it began too late to be shut down
            for line in self._events:
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
