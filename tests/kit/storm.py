"""A storm: pods that come, go and come back under one name while a test breaks things, and the wait for its end."""

import json
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Any, Self

from kit.commands import Manifest
from kit.patient_client import PatientClient
from localcluster.record import Cluster
from pilotage.testing import node_manifest, pod_manifest

DELETE_EVERY = 6  # every so many pods an earlier one goes
TOLD_PODS, TOLD_LINES = 6, 25

Shape = Callable[[int], dict[str, Any]]


def mixed(number: int) -> dict[str, Any]:
    """Return what a pod of a storm asks for: half a core on average (init containers count), and 700m at most."""
    match number % 5:
        case 1:
            return {"cpu": "600m", "host_ports": [8000 + number % 10]}
        case 2:
            return {"cpu": "100m", "init": [{"cpu": "500m"}]}
        case 3:
            return {"cpu": "200m", "memory": "1Gi", "sidecars": [{"cpu": "200m"}]}
        case 4:
            return {"cpu": "700m", "memory": "100Mi"}
    return {"cpu": "300m"}


def storm_nodes(prefix: str, count: int = 50) -> list[Manifest]:
    """Return nodes that a storm of six times as many pods nearly fills.

    Of the pods 280 stay at most, with 140 cores: 2.8 on each of 50 nodes leave 700m for the largest, wherever all are.
    """
    return [node_manifest(f"{prefix}-{number}", cpu="3500m", memory="8Gi", pods=8) for number in range(count)]


class Storm:
    """Creates pods at a pace in a thread of its own, and deletes and replaces some, whatever the API server does.

    with Storm(cluster, namespace, "me", pods=300) as storm:
        ...                                    # break things
        storm.ends_bound(120, [scheduler.log]) # everybody who should be there has a node
    """

    def __init__(
        self,
        cluster: Cluster,
        namespace: str,
        scheduler: str,
        *,
        pods: int = 300,
        rate: float = 30.0,
        seed: int = 1,
        shape: Shape = mixed,
    ) -> None:
        self.wanted: set[str] = set()
        self.pods = pods
        self.created = self.deleted = 0
        self.touched: set[str] = set()  # names of pods that were deleted at some time
        self.replaced: dict[str, int] = {}  # names that were used twice, and the number of the pod
        self._cluster, self._namespace, self._scheduler = cluster, namespace, scheduler
        self._rate, self._shape = rate, shape
        self._random = Random(seed)
        self._collection = f"/api/v1/namespaces/{namespace}/pods"
        self._history: list[str] = []
        self._failure: BaseException | None = None
        self._given_up = threading.Event()
        self._thread = threading.Thread(target=self._blow, name="storm", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._given_up.set()
        self._thread.join(30)

    @property
    def is_over(self) -> bool:
        """Whether all pods were created."""
        return not self._thread.is_alive()

    def reaches(self, share: float, seconds: float = 120) -> None:
        """Wait until this share of the pods was created."""
        deadline = time.monotonic() + seconds
        while self.created < share * self.pods:
            self._check()
            assert time.monotonic() < deadline, f"{self.created} of {self.pods} pods created after {seconds:g} s"
            time.sleep(0.05)

    def ends_bound(self, seconds: float, logs: Sequence[Path] = (), alive: Callable[[], bool] = lambda: True) -> None:
        """Wait until the storm is over and everybody has a node; fails early if `alive` says no."""
        deadline = time.monotonic() + seconds
        with closing(PatientClient(self._cluster)) as api:
            while True:
                self._check()
                pods = api.items(self._collection)
                waiting = [pod for pod in still_waiting(pods) if pod["metadata"]["name"] in self.wanted]
                lost = self.wanted - {pod["metadata"]["name"] for pod in pods} if self.is_over else set[str]()
                if self.is_over and not waiting and not lost:
                    return
                # kwok deletes by name: who takes the name of a pod that has just gone may go with it.
                for name in lost & self.replaced.keys():
                    self._create(api, name, self.replaced[name])
                if time.monotonic() > deadline or not alive():
                    raise AssertionError(self._story(seconds, waiting, lost, logs))
                time.sleep(0.5)

    def _story(
        self, seconds: float, waiting: Sequence[dict[str, Any]], lost: Iterable[str], logs: Sequence[Path]
    ) -> str:
        lines = [
            f"after at most {seconds:g} s: {self.created} of {self.pods} pods created, {len(waiting)} have no node,"
            f" {sorted(lost)} are not there"
        ]
        lines += [f"  {line}" for line in self._history if line.split()[1] in lost]
        lines += [f"  {pod['metadata']['name']}: {conditions_of(pod)}" for pod in waiting[:TOLD_PODS]]
        return "\n".join([*lines, *(last_lines(log) for log in logs)])

    def _check(self) -> None:
        if self._failure is not None:
            raise AssertionError(f"the storm ended early: {self._failure}") from self._failure

    def _blow(self) -> None:
        try:
            with closing(PatientClient(self._cluster)) as api:
                for number in range(self.pods):
                    if self._given_up.wait(1 / self._rate):
                        return
                    self._step(api, number)
        except BaseException as failure:
            self._failure = failure

    def _step(self, api: PatientClient, number: int) -> None:
        self._create(api, f"p{number}", number)
        self.created += 1
        if number % DELETE_EVERY == DELETE_EVERY - 1:
            name = self._random.choice(sorted(self.wanted))
            self.wanted.remove(name)
            self.touched.add(name)
            api.delete(f"{self._collection}/{name}")
            self._history.append(f"{time.strftime('%H:%M:%S')} {name} deleted")
            if self._random.random() < 0.5:
                self._create(api, name, number)
                self.replaced[name] = number
            else:
                self.deleted += 1

    def _create(self, api: PatientClient, name: str, number: int) -> None:
        uid = api.create(self._pod(name, number))
        self._history.append(f"{time.strftime('%H:%M:%S')} {name} created, uid {uid}")
        self.wanted.add(name)

    def _pod(self, name: str, number: int) -> Manifest:
        return pod_manifest(name, namespace=self._namespace, scheduler=self._scheduler, **self._shape(number))


def still_waiting(pods: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the pods that have no node and are not on their way out."""
    return [pod for pod in pods if not pod["spec"].get("nodeName") and "deletionTimestamp" not in pod["metadata"]]


def conditions_of(pod: dict[str, Any]) -> str:
    """Return what a pod says about itself, in short."""
    told = [
        {key: condition[key] for key in ("type", "status", "reason", "message") if key in condition}
        for condition in pod["status"].get("conditions", ())
    ]
    return json.dumps(told)[:400] if told else "nobody has said anything about it"


def wait_for_line(log: Path, text: str, seconds: float = 60) -> None:
    """Wait until a log has a line with this text."""
    deadline = time.monotonic() + seconds
    while text not in log.read_text(errors="replace"):
        assert time.monotonic() < deadline, f"no line with {text!r} within {seconds:g} s\n{last_lines(log)}"
        time.sleep(0.1)


def last_lines(log: Path, count: int = TOLD_LINES) -> str:
    """Return the end of a log, and its complaints before that."""
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    complaints = [line for line in lines[:-count] if line[:1] in "EWF"][-count:]
    chosen = [f"--- {log.name}, {len(lines)} lines", *complaints, "...", *lines[-count:]]
    return "\n".join(line[:300] for line in chosen)
