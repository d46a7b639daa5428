"""The contestants: programs that get the same configuration and the same credentials."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml

from bench.live.programs import ControlPlane, Program, gate_flags, kubernetes_program
from localcluster.binaries import DEFAULT_KUBERNETES
from localcluster.errors import Problem

Document = dict[str, Any]
Command = Callable[[Path, Path, dict[str, bool]], list[str]]  # configuration, kubeconfig, feature gates

# What upstream's harness gives its client; the default of 50 a second would be all that is measured.
REQUESTS_PER_SECOND = 5000


@dataclass(frozen=True)
class Contestant:
    """A scheduler, how it is started and in which encoding it watches."""

    name: str
    command: Command
    release: Callable[[], str]
    as_protobuf: bool = False
    is_extended: bool = False  # knows plugins that kube-scheduler does not have

    def start(self, plane: ControlPlane, configuration: Document, gates: dict[str, bool]) -> Program:
        """Start it against a control plane."""
        file = plane.folder / "scheduler.yaml"
        file.write_text(yaml.safe_dump(complete(configuration, plane.kubeconfig)))
        return Program(self.name, self.command(file, plane.kubeconfig, gates), plane.folder)


def complete(configuration: Document, kubeconfig: Path) -> Document:
    """A workload's configuration of the scheduler, with what every contestant is given."""
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    connection = {"kubeconfig": str(kubeconfig), "qps": REQUESTS_PER_SECOND, "burst": REQUESTS_PER_SECOND}
    return head | configuration | {"clientConnection": connection, "leaderElection": {"leaderElect": False}}


def named(names: str) -> list[Contestant]:
    """The contestants of a list like "kube-scheduler,pilotage"."""
    found = []
    for name in names.split(","):
        if name not in CONTESTANTS:
            raise Problem(f"There is no contestant {name!r}; choose from {', '.join(CONTESTANTS)}")
        found.append(CONTESTANTS[name])
    return found


def _kube_scheduler(configuration: Path, _kubeconfig: Path, gates: dict[str, bool]) -> list[str]:
    command = [kubernetes_program("kube-scheduler"), f"--config={configuration}", "--secure-port=0", "-v=2"]
    return command + gate_flags(gates)


def _pilotage(configuration: Path, kubeconfig: Path, _gates: dict[str, bool]) -> list[str]:
    program = str(Path(sys.executable).with_name("pilotage"))
    return [program, "run", f"--config={configuration}", f"--kubeconfig={kubeconfig}", "--secure-port=0", "--v=2"]


def _ceiling(_configuration: Path, kubeconfig: Path, _gates: dict[str, bool]) -> list[str]:
    return [sys.executable, "-m", "bench.live.ceiling", str(kubeconfig)]


def _silent_ceiling(configuration: Path, kubeconfig: Path, gates: dict[str, bool]) -> list[str]:
    return [*_ceiling(configuration, kubeconfig, gates), "--no-events"]


CONTESTANTS = {
    contestant.name: contestant
    for contestant in (
        Contestant("kube-scheduler", _kube_scheduler, lambda: f"v{DEFAULT_KUBERNETES}", as_protobuf=True),
        Contestant("pilotage", _pilotage, lambda: version("pilotage"), is_extended=True),
        Contestant("ceiling", _ceiling, lambda: "binds without looking, and writes events"),
        Contestant("silent-ceiling", _silent_ceiling, lambda: "binds without looking, and writes no events"),
    )
}
