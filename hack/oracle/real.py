"""The real kube-scheduler, decision by decision."""

import shutil
import tempfile
from collections.abc import Generator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import yaml

from kit.commands import CommandFailed
from oracle import programs
from oracle.client import Client
from oracle.decision import Decision
from oracle.observation import Observation
from oracle.scenario import Manifest, Scenario
from oracle.scheduler_log import SchedulerLog
from oracle.sentinels import Sentinels
from oracle.stage import NAMESPACES, Stage

CONFIGURATION = Path(__file__).with_name("configuration.yaml")
MEMORY = Path("/dev/shm")  # noqa: S108 # nothing of it is worth a disk


@dataclass(frozen=True)
class Step:
    """One decision and everything that a client could read when it was made."""

    objects: list[Manifest]
    pod: Manifest
    decision: Decision


class RealScheduler:
    """A private control plane whose only active part is kube-scheduler; gone when the block ends."""

    def __init__(self, configuration: str | None = None) -> None:
        self.configuration = configuration or CONFIGURATION.read_text()
        self._cleanup = ExitStack()

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self._cleanup.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._cleanup.close()

    def play(self, scenario: Scenario) -> Generator[Step, None, None]:
        """Set up the cluster, then decide pod after pod; what was placed stays for the next, what waits is removed."""
        try:
            self._stage.set_up(scenario.objects)
            for pod in scenario.pods:
                yield (step := self._decide(pod))
                self._stage.settle(step.pod, step.decision, self._observation.is_waiting_for_volumes)
        finally:
            self._stage.tear_down()
            self._log.forget()

    def decisions(self, scenario: Scenario) -> list[Decision]:
        """All decisions of a scenario."""
        return [step.decision for step in self.play(scenario)]

    def _decide(self, manifest: Manifest) -> Step:
        self._log.read()
        pod = self._stage.submit(manifest)
        objects = self._stage.read()
        self._observation = Observation(pod)
        self._log.wait_until(self._observation.take, f"what becomes of pod {self._observation.key}")
        return Step(objects, pod, self._stage.complete(self._observation.decision()))

    def _start(self) -> None:
        parent = MEMORY if MEMORY.is_dir() else None
        folder = Path(tempfile.mkdtemp(prefix="pilotage-oracle-", dir=parent))
        self._cleanup.callback(shutil.rmtree, folder, ignore_errors=True)
        api_port, etcd_port, peer_port, scheduler_port = programs.free_ports(4)
        server = f"https://{programs.LOOPBACK}:{api_port}"
        programs.write_identities(folder, server)
        self._start_api(folder, api_port, etcd_port, peer_port)
        self._start_scheduler(folder, scheduler_port)

    def _start_api(self, folder: Path, api_port: int, etcd_port: int, peer_port: int) -> None:
        self._cleanup.callback(programs.etcd(folder, etcd_port, peer_port).end)
        program = programs.api_server(folder, api_port, etcd_port)
        self._cleanup.callback(program.end)
        self._api = Client(api_port, folder / "pki")
        self._cleanup.callback(self._api.close)
        program.wait_until(lambda: _is_ready(self._api))
        for name, labels in NAMESPACES.items():
            self._api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})

    def _start_scheduler(self, folder: Path, port: int) -> None:
        given = yaml.safe_load(self.configuration)
        connection = {"kubeconfig": str(folder / "scheduler.kubeconfig"), "qps": 5000, "burst": 5000}
        complete = given | {"clientConnection": connection, "leaderElection": {"leaderElect": False}}
        (folder / "configuration.yaml").write_text(yaml.safe_dump(complete))
        program = programs.scheduler(folder, folder / "configuration.yaml", port)
        self._cleanup.callback(program.end)
        metrics = Client(port, folder / "pki")
        self._cleanup.callback(metrics.close)
        program.wait_until(lambda: _is_ready(metrics))
        self._log = SchedulerLog(program.log)
        self._cleanup.callback(self._log.close)
        sentinels = Sentinels(self._api, metrics, self._log)
        sentinels.create()
        self._stage = Stage(self._api, self._log, sentinels)


def _is_ready(client: Client) -> bool:
    try:
        client.page("/readyz")
    except CommandFailed:
        return False
    return True
