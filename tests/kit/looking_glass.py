"""What a running scheduler of ours says about itself, held against what the API server says."""

import http.client
import re
import socket
import ssl
import time
from collections import Counter
from types import TracebackType
from typing import Any

from kit.admin import Admin
from kit.commands import CommandFailed
from localcluster.record import Cluster

PATIENCE = 60.0  # seconds
SAMPLE = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$")
ENDED = ("Succeeded", "Failed")


def free_port() -> int:
    """Return a port that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class LookingGlass:
    """Reads the pages of a scheduler as the cluster's admin."""

    def __init__(self, cluster: Cluster, port: int) -> None:
        self._admin = Admin(cluster)
        self._port = port
        # The certificate is one that the scheduler made for itself a moment ago.
        self._tls = ssl.create_default_context()
        self._tls.check_hostname, self._tls.verify_mode = False, ssl.CERT_NONE
        self._tls.load_cert_chain(cluster.pki / "admin.crt", cluster.pki / "admin.key")

    def __enter__(self) -> "LookingGlass":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._admin.close()

    def page(self, path: str) -> str:
        """Return a page."""
        connection = http.client.HTTPSConnection("127.0.0.1", self._port, context=self._tls, timeout=60)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            text = answer.read().decode()
        finally:
            connection.close()
        if answer.status != http.HTTPStatus.OK:
            raise CommandFailed(f"{path}: {answer.status} {text}")
        return text

    def until_ready(self) -> None:
        """Wait until the scheduler says that it is ready, and knows us by our certificate."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                self.page("/readyz")
                self.page("/metrics")
            except (OSError, CommandFailed):
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)
            else:
                return

    def metrics(self) -> dict[tuple[str, str], float]:
        """Return all samples, by name and labels."""
        found = (SAMPLE.match(line) for line in self.page("/metrics").splitlines())
        return {(each[1], each[2] or ""): float(each[3]) for each in found if each}

    def objects(self) -> Counter[str]:
        """Return how many objects of which type have come since the scheduler was ready, and are needed."""
        lines = (line.split(maxsplit=1) for line in self.page("/debug/pprof/heap?gc=1").splitlines())
        return Counter({name: int(number) for number, name in lines})

    def pods_in_the_cluster(self) -> int:
        """Return how many pods the API server has."""
        return len(self._admin.get("/api/v1/pods")["items"])

    def until_as_the_api_server(self) -> bool:
        """Wait until nothing is under way and the cache has what the API server has; False if that takes too long."""
        deadline = time.monotonic() + PATIENCE
        while self.differences():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.5)
        return True

    def differences(self) -> dict[str, tuple[float, float]]:
        """Return the sizes that are not what they should be, with what they should be."""
        found, wanted = self.metrics(), self._sizes()
        sizes = {
            f"{name}{{{labels}}}": (number, wanted.get((name, labels), 0.0))
            for (name, labels), number in found.items()
            if name in SIZES or (name, labels) in wanted
        }
        return {name: each for name, each in sizes.items() if each[0] != each[1]}

    def _sizes(self) -> dict[tuple[str, str], float]:
        pods: list[Any] = self._admin.get("/api/v1/pods")["items"]
        placed = [pod for pod in pods if pod["spec"].get("nodeName") and pod["status"].get("phase") not in ENDED]
        return {
            ("scheduler_cache_size", 'type="nodes"'): len(self._admin.get("/api/v1/nodes")["items"]),
            ("scheduler_cache_size", 'type="pods"'): len(placed),
        }


# Nothing of these is there when nothing waits and nothing is under way.
SIZES = frozenset(
    {
        "scheduler_cache_size",
        "scheduler_goroutines",
        "scheduler_inflight_events",
        "scheduler_pending_pods",
        "scheduler_unschedulable_pods",
        "pilotage_events_waiting",
    }
)
