"""Beside the stock kube-scheduler on real kubelets that are always full: how often they reject what we decided."""

import os
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from auditor.quantity import parse
from kit.control_plane import NO_OWN_NODES, without_own_nodes
from kit.installed import Installed, Manifest, real_nodes
from kit.pod_watch import PodWatch
from pilotage.testing import pod_manifest
from races.feed import Feed

pytestmark = pytest.mark.skipif(without_own_nodes(), reason=NO_OWN_NODES)

GUARDED, UNGUARDED, STOCK = "guarded", "unguarded", "default-scheduler"
SECONDS = float(os.environ.get("PILOTAGE_RACE_SECONDS", "120"))  # 600 where there is time
WANTED = 1.5  # of the cluster, by each of the two
LIFE = 20.0
MILLICORES = (100, 200, 400)
FEWER = 5
VALUES: Manifest = {
    "scheduler": {"createProfile": False},
    "profiles": [{"name": GUARDED}, {"name": UNGUARDED, "spec": {"sharing": {"guard": False}}}],
}


class Rejections:
    """Counts the pods that kubelets reject, and those that run, by scheduler."""

    def __init__(self) -> None:
        self.rejected: Counter[str] = Counter()
        self.ran: Counter[str] = Counter()
        self._seen: set[str] = set()

    def told(self, _kind: str, pod: Any) -> None:
        uid, phase = pod["metadata"]["uid"], pod["status"].get("phase")
        if uid in self._seen or phase not in ("Running", "Failed"):
            return
        self._seen.add(uid)
        is_rejected = phase == "Failed" and pod["status"].get("reason", "").startswith("OutOf")
        (self.rejected if is_rejected else self.ran)[pod["spec"]["schedulerName"]] += 1


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    folder = tmp_path_factory.mktemp("shared")
    with real_nodes("shared", folder) as cluster:
        found = Installed(cluster, cluster.helm(4), folder)
        found.upgrade(VALUES)
        yield found


@pytest.mark.timeout(SECONDS * 2 + 600)
def test_kubelets_reject_far_fewer_of_our_pods_with_the_guard_and_none_is_lost(installed: Installed) -> None:
    off = contest(installed, UNGUARDED)
    on = contest(installed, GUARDED)
    for name, seen in ((UNGUARDED, off), (GUARDED, on)):
        print(f"{SECONDS:g} s, {name}: ours {told(seen, name)}; kube-scheduler {told(seen, STOCK)}")
    assert off.rejected[UNGUARDED] >= FEWER, "nothing is shown: the kubelets rejected nothing"
    assert on.ran[GUARDED], "none of our pods ran"
    assert on.rejected[GUARDED] * FEWER <= off.rejected[UNGUARDED]


def told(seen: Rejections, scheduler: str) -> str:
    return f"{seen.rejected[scheduler]} rejected, {seen.ran[scheduler]} ran"


def contest(installed: Installed, scheduler: str) -> Rejections:
    """Feed both schedulers for a while, and let ours come to rest."""
    seen, cluster = Rejections(), installed.cluster.cluster
    path = "/api/v1/namespaces/default/pods"
    watch = PodWatch(cluster, path, seen.told)
    watch.start()
    try:
        with ExitStack() as feeds:
            for name in (STOCK, scheduler):
                feeds.enter_context(Feed(cluster, "default", pods_of(name), rate(installed), LIFE))
            time.sleep(SECONDS)
        everything_is_placed(installed, scheduler)
        return seen
    finally:
        watch.stop()
        installed.kubectl("delete", "pods", "--all", "-n", "default", "--force", "--grace-period=0", timeout=120)


def pods_of(scheduler: str) -> Any:
    def pod(number: int) -> Manifest:
        cpu = f"{MILLICORES[number % len(MILLICORES)]}m"
        return pod_manifest(f"{scheduler}-{number}", scheduler=scheduler, cpu=cpu)

    return pod


def rate(installed: Installed) -> float:
    """Return how many pods a second keep the cluster wanted so many times."""
    nodes = installed.kubectl.get("nodes")["items"]
    there = sum(float(parse(node["status"]["allocatable"]["cpu"])) for node in nodes) * 1000
    return there * WANTED / (sum(MILLICORES) / len(MILLICORES)) / LIFE


def everything_is_placed(installed: Installed, scheduler: str) -> None:
    """Take the other's pods away; each of ours that was not rejected then runs, some after others have made room."""
    installed.kubectl("delete", "pods", "-n", "default", f"--field-selector=spec.schedulerName={STOCK}", timeout=120)

    def waiting() -> list[Any]:
        pods = installed.kubectl.get("pods", "-n", "default", f"--field-selector=spec.schedulerName={scheduler}")
        for pod in pods["items"]:
            if pod["status"]["phase"] == "Running" and "deletionTimestamp" not in pod["metadata"]:
                installed.kubectl("delete", "pod", pod["metadata"]["name"], "-n", "default", "--grace-period=1")
        return [pod for pod in pods["items"] if pod["status"]["phase"] == "Pending"]

    installed.until(lambda: not waiting(), "every pod of ours has run", 300)
