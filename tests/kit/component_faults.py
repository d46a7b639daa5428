"""Faults of the programs of a control plane: killed, frozen, their history thrown away."""

import json
import os
import signal
import ssl
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

from localcluster.api import Api
from localcluster.processes import processes_of
from localcluster.record import Cluster

BACK_SECONDS = 60.0
API_SERVER = "kube-apiserver"


def process_of(cluster: Cluster, component: str) -> int | None:
    """Return the process of a component, None if it is not there at this moment."""
    return next((pid for pid, name in processes_of(cluster.folder).items() if name == component), None)


def kill_api_server(cluster: Cluster) -> int:
    """Kill the API server without a word; the keeper of the cluster starts it again a second later."""
    pid = process_of(cluster, API_SERVER)
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    return pid


def wait_for_api_server(cluster: Cluster, other_than: int) -> None:
    """Wait until another process than the one that was killed answers."""
    api, deadline = Api(cluster), time.monotonic() + BACK_SECONDS
    while process_of(cluster, API_SERVER) in (None, other_than) or not api.answers("/readyz"):
        assert time.monotonic() < deadline, f"the API server is not back after {BACK_SECONDS:g} s"
        time.sleep(0.2)


@contextmanager
def frozen(pid: int) -> Iterator[None]:
    """Let a process stand still; its connections stay open and say nothing."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def compact(cluster: Cluster) -> int:
    """Make etcd forget everything but the newest state, and return the version that is left."""
    tls = ssl.create_default_context(cafile=cluster.pki / "ca.crt")
    tls.load_cert_chain(cluster.pki / "etcd.crt", cluster.pki / "etcd.key")
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=tls))

    def ask(path: str, question: dict[str, object]) -> dict[str, dict[str, str]]:
        url = f"https://127.0.0.1:{cluster.ports.etcd}{path}"
        with opener.open(urllib.request.Request(url, json.dumps(question).encode()), timeout=10) as answer:
            content: dict[str, dict[str, str]] = json.loads(answer.read())
            return content

    revision = ask("/v3/kv/range", {"key": "Lw==", "count_only": True})["header"]["revision"]
    ask("/v3/kv/compaction", {"revision": revision, "physical": True})
    return int(revision)
