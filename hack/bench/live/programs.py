"""The programs of one round: started in their own folder, ended by their ids, and removed with it."""

import ctypes
import os
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.live.connection import Door
from bench.live.measure import cpu_seconds, peak_memory
from localcluster import kubeconfig
from localcluster.binaries import DEFAULT_KUBERNETES, TOOLS, kubernetes
from localcluster.build import ensure
from localcluster.component import flags
from localcluster.errors import Problem
from localcluster.pki import Authority, Identity, write_service_account_keys
from oracle.programs import LOOPBACK, free_ports

PR_SET_PDEATHSIG = 1
READY_SECONDS = 90
# As in upstream's harness: nothing here creates service accounts, taints nodes or knows priority classes.
ADMISSION_OFF = "ServiceAccount,TaintNodesByCondition,Priority"
SERVER_CERTIFICATE = Identity("apiserver", "kube-apiserver", "kubernetes", ("localhost", LOOPBACK))


class Program:
    """A running program; Ctrl-C reaches only us, and we end it."""

    def __init__(self, name: str, command: list[str], folder: Path) -> None:
        self.name = name
        self.log = folder / f"{name}.log"
        with self.log.open("ab") as file:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                start_new_session=True,
                preexec_fn=_die_with_parent,
            )

    def check_alive(self) -> None:
        """A Problem with its last words if it has ended."""
        if self._process.poll() is not None:
            words = self.log.read_text(errors="replace").strip()[-1500:]
            raise Problem(f"{self.name} ended by itself ({self._process.returncode}): {words}")

    def cpu_seconds(self) -> float:
        """What it has taken so far."""
        self.check_alive()
        return cpu_seconds(self._process.pid)

    def peak_memory(self) -> int:
        """The most bytes that it has had."""
        self.check_alive()
        return peak_memory(self._process.pid)

    def end(self) -> None:
        """Terminate it, then kill it."""
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


@dataclass(frozen=True)
class ControlPlane:
    """An API server that only we and one scheduler use."""

    folder: Path
    door: Door
    programs: tuple[Program, ...]  # etcd, kube-apiserver, and the controllers where some are needed
    kubeconfig: Path


@contextmanager
def control_plane(
    parent: Path | None, gates: dict[str, bool], controllers: tuple[str, ...] = ()
) -> Iterator[ControlPlane]:
    """A new one, empty; nothing is left of it afterwards."""
    with ExitStack() as cleanup:
        folder = Path(tempfile.mkdtemp(prefix="pilotage-bench-", dir=parent))
        cleanup.callback(shutil.rmtree, folder, ignore_errors=True)
        ports = free_ports(3)
        Authority(folder / "pki").issue([SERVER_CERTIFICATE])
        write_service_account_keys(folder / "pki")
        door = Door(ports[0], secrets.token_hex(16), str(folder / "pki" / "ca.crt"))
        _write_access(folder, door)
        etcd = Program("etcd", _etcd(folder, ports[1], ports[2]), folder)
        cleanup.callback(etcd.end)
        server = Program("kube-apiserver", _api_server(folder, ports[0], ports[1], gates), folder)
        cleanup.callback(server.end)
        _wait_until_ready(door, (etcd, server))
        programs = [etcd, server]
        if controllers:
            command = _controller_manager(folder, controllers, gates)
            programs.append(Program("kube-controller-manager", command, folder))
            cleanup.callback(programs[-1].end)
        yield ControlPlane(folder, door, tuple(programs), folder / "kubeconfig")


def memory_folder() -> Path | None:
    """A folder that is no disk, if this machine has one."""
    folder = Path("/dev/shm")  # noqa: S108 - a folder of our own is made inside
    return folder if folder.is_dir() and os.access(folder, os.W_OK) else None


def kubernetes_program(name: str) -> str:
    """The path of one of Kubernetes' programs, in the version that we follow."""
    return str(ensure(kubernetes(DEFAULT_KUBERNETES)) / name)


def gate_flags(gates: dict[str, bool]) -> list[str]:
    """The feature gates of a workload, for either program of Kubernetes."""
    listed = ",".join(f"{gate}={str(on).lower()}" for gate, on in sorted(gates.items()))
    return [f"--feature-gates={listed}"] if listed else []


def _write_access(folder: Path, door: Door) -> None:
    """One identity for everybody: a token whose group is exempt from the server's own limits."""
    tokens = folder / "tokens.csv"
    tokens.touch(mode=0o600)
    tokens.write_text(f'{door.token},bench,bench,"system:masters"\n')
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "bench", "cluster": {"server": door.server, "certificate-authority": door.authority}}],
        "users": [{"name": "bench", "user": {"token": door.token}}],
        "contexts": [{"name": "bench", "context": {"cluster": "bench", "user": "bench"}}],
        "current-context": "bench",
    }
    kubeconfig.write(folder / "kubeconfig", content)


def _etcd(folder: Path, client_port: int, peer_port: int) -> list[str]:
    client, peer = f"http://{LOOPBACK}:{client_port}", f"http://{LOOPBACK}:{peer_port}"
    command = [str(ensure(TOOLS["etcd"]) / "etcd"), "--log-level=warn", "--name=default"]
    return command + flags(
        data_dir=folder / "etcd",
        listen_client_urls=client,
        advertise_client_urls=client,
        listen_peer_urls=peer,
        initial_advertise_peer_urls=peer,
        initial_cluster=f"default={peer}",
        # A large run writes more than the default of 2 GiB before it is compacted.
        quota_backend_bytes=8 << 30,
    )


def _api_server(folder: Path, port: int, etcd_port: int, gates: dict[str, bool]) -> list[str]:
    pki = folder / "pki"
    command = [kubernetes_program("kube-apiserver"), *gate_flags(gates)]
    return command + flags(
        etcd_servers=f"http://{LOOPBACK}:{etcd_port}",
        advertise_address=LOOPBACK,
        bind_address=LOOPBACK,
        secure_port=port,
        endpoint_reconciler_type="none",
        service_cluster_ip_range="10.96.0.0/16",
        # Users in system:masters are authorized before any rule is read, so this costs a request the same as RBAC.
        authorization_mode="AlwaysAllow",
        disable_admission_plugins=ADMISSION_OFF,
        token_auth_file=folder / "tokens.csv",
        tls_cert_file=pki / "apiserver.crt",
        tls_private_key_file=pki / "apiserver.key",
        service_account_issuer="https://kubernetes.default.svc.cluster.local",
        service_account_key_file=pki / "sa.pub",
        service_account_signing_key_file=pki / "sa.key",
    )


def _controller_manager(folder: Path, controllers: tuple[str, ...], gates: dict[str, bool]) -> list[str]:
    command = [kubernetes_program("kube-controller-manager"), *gate_flags(gates)]
    return command + flags(
        kubeconfig=folder / "kubeconfig",
        controllers=",".join(controllers),
        leader_elect="false",
        secure_port=0,
        kube_api_qps=5000,
        kube_api_burst=5000,
    )


def _wait_until_ready(door: Door, programs: tuple[Program, ...]) -> None:
    request = urllib.request.Request(f"{door.server}/readyz", headers={"Authorization": f"Bearer {door.token}"})
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        for program in programs:
            program.check_alive()
        try:
            with urllib.request.urlopen(request, timeout=5, context=door.tls()) as answer:
                if answer.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise Problem(f"The API server was not ready after {READY_SECONDS} s; is the machine busy? Try again")


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
