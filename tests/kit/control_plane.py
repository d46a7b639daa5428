"""A control plane for a test run: created once, asked by many, removed at the end."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import yaml

from kit.commands import Command, CommandFailed, Kubectl, Manifest
from localcluster import lifecycle, real_kind, record
from localcluster.api import Api
from localcluster.binaries import TOOLS
from localcluster.build import ensure
from localcluster.paths import HACK
from localcluster.record import Cluster

KIND = HACK / "kind"
PREFIX = "test-"
NO_OWN_NODES = "real nodes of our own need root; here a Docker engine has those of the real kind"
PILOTAGE = str(Path(sys.executable).with_name("pilotage"))


class ControlPlane:
    """A running cluster of the control-plane shape."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.kubeconfig = cluster.identity_kubeconfig("admin")
        self.audit_log = cluster.audit_log
        self._api = Api(cluster)
        self.kubectl = Kubectl(Path(cluster.binaries["kubectl"]), self.kubeconfig, self.recent_logs)

    def helm(self, major: int) -> Command:
        """Helm 3 or Helm 4, pointed at this control plane."""
        return Command(ensure(TOOLS[f"helm{major}"]) / "helm", self.kubeconfig, self.recent_logs)

    def recent_logs(self) -> str:
        """The last errors and warnings of every component."""
        return "\n".join(_complaints(log) for log in sorted(self.cluster.logs.glob("*.log")))

    def fake_nodes(self, manifests: Sequence[Manifest], seconds: float = 120) -> None:
        """Register nodes that kwok plays, and wait until all are Ready."""
        self.create(manifests)
        names = {manifest["metadata"]["name"] for manifest in manifests}
        deadline = time.monotonic() + seconds
        while missing := names - self._api.schedulable_nodes():
            if time.monotonic() > deadline:
                raise CommandFailed(f"{len(missing)} nodes are not Ready after {seconds} s\n{self.recent_logs()}")
            time.sleep(0.2)

    def create(self, manifests: Sequence[Manifest]) -> None:
        """Create many nodes or pods, fast."""
        from kit.admin import Admin  # every run of pytest imports this module, and few of them need a client

        with closing(Admin(self.cluster)) as admin:
            admin.create(manifests)

    def delete_nodes(self, selector: str) -> None:
        """Remove all nodes with these labels in one request."""
        self.kubectl("delete", "--raw", f"/api/v1/nodes?labelSelector={quote(selector)}")

    @contextmanager
    def kube_scheduler(self, *flags: str) -> Iterator[Path]:
        """Run the real kube-scheduler against this control plane; gives its log."""
        own = self.cluster.identity_kubeconfig("scheduler")
        log = self.cluster.logs / f"kube-scheduler-{time.monotonic_ns()}.log"
        command = [self.cluster.binaries["kube-scheduler"], f"--kubeconfig={own}", "--leader-elect=false"]
        command += ["--secure-port=0", *flags]
        with running(command, log):
            yield log

    @contextmanager
    def pilotage(self, *flags: str, identity: str = "scheduler") -> Iterator["RunningPilotage"]:
        """Run our scheduler against this control plane, with no more rights than kube-scheduler has."""
        own = self.cluster.identity_kubeconfig(identity)
        log = self.cluster.logs / f"pilotage-{time.monotonic_ns()}.log"
        command = [PILOTAGE, "run", f"--kubeconfig={own}", "--leader-elect=false", "--secure-port=0", "--v=2", *flags]
        with running(command, log) as process:
            yield RunningPilotage(process, log)


@dataclass(frozen=True)
class RunningPilotage:
    """A scheduler of ours: its process and its log."""

    process: subprocess.Popen[bytes]
    log: Path


@contextmanager
def running(
    command: Sequence[str], log: Path, environment: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program until the block ends; one that does not end when asked is killed."""
    with log.open("wb") as file, subprocess.Popen(command, stdout=file, stderr=file, env=environment) as process:
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


@contextmanager
def control_plane(name: str, kubeconfig: Path, features: Manifest | None = None) -> Iterator[ControlPlane]:
    """A control plane that is gone afterwards, however the run ends; features are as kind's configuration has them."""
    create = [str(KIND), "create", "cluster", f"--name={name}", f"--kubeconfig={kubeconfig}", "--shape=control-plane"]
    if features:
        configuration = kubeconfig.with_name("kind.yaml")
        configuration.write_text(yaml.safe_dump({"kind": "Cluster", **features}))
        create.append(f"--config={configuration}")
    try:
        subprocess.run(create, check=True)
        yield ControlPlane(record.load_existing(name))
    finally:
        lifecycle.delete(name)


def without_own_nodes() -> bool:
    """Whether the real kind is the only way to real nodes here."""
    return os.geteuid() != 0 and real_kind.engine_answers()


def name_for_this_run() -> str:
    """A name that says which process owns the cluster."""
    return f"{PREFIX}{os.getpid()}"


def sweep() -> None:
    """Delete clusters whose test run was killed before it could."""
    for name in record.cluster_names():
        owner, *_ = name.removeprefix(PREFIX).split("-")
        if name.startswith(PREFIX) and owner.isdigit() and not _alive(int(owner)):
            lifecycle.delete(name)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIG_DFL)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _complaints(log: Path, count: int = 5) -> str:
    lines = log.read_text(errors="replace").splitlines()
    telling = [line for line in lines if line[:1] in "EWF" or "error" in line.lower()]
    return "\n".join([f"{log.stem}:", *(f"  {line[:300]}" for line in telling[-count:])])
