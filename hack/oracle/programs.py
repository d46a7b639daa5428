"""The three programs behind the oracle: etcd, an API server that checks and defaults but decides nothing, and
kube-scheduler, which is then the only one that changes anything."""

import ctypes
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from localcluster import kubeconfig
from localcluster.binaries import DEFAULT_KUBERNETES, TOOLS, kubernetes
from localcluster.build import ensure
from localcluster.component import flags
from localcluster.errors import Problem
from localcluster.pki import Authority, Identity, write_service_account_keys

LOOPBACK = "127.0.0.1"
PR_SET_PDEATHSIG = 1
# What would change objects behind the scenario's back, refuse priorities without classes, or keep deleted objects.
ADMISSION_OFF = (
    "CertificateApproval,CertificateSigning,CertificateSubjectRestriction,ClusterTrustBundleAttest,"
    "DefaultIngressClass,DefaultStorageClass,DefaultTolerationSeconds,LimitRanger,MutatingAdmissionPolicy,"
    "MutatingAdmissionWebhook,NodeDeclaredFeatureValidator,PersistentVolumeClaimResize,PodSecurity,Priority,"
    "ResourceQuota,RuntimeClass,ServiceAccount,StorageObjectInUseProtection,TaintNodesByCondition,"
    "ValidatingAdmissionPolicy,ValidatingAdmissionWebhook"
)
# Sentinels read the metrics often, and these make nine tenths of them.
METRICS_OFF = (
    "scheduler_plugin_execution_duration_seconds,scheduler_framework_extension_point_duration_seconds,"
    "scheduler_plugin_evaluation_total,informer_processing_latency_seconds,scheduler_event_handling_duration_seconds,"
    "scheduler_scheduling_attempt_duration_seconds,kubernetes_feature_enabled,scheduler_get_node_hint_duration_seconds,"
    "scheduler_store_schedule_results_duration_seconds"
)
# Scores and verdicts from the cycle, what was seen from the event handlers; all else stays quiet.
VERBOSITY = "schedule_one=10,eventhandlers=4,scheduling_queue=4"


class Program:
    """A running program that ends with the block, and with this process if it is killed."""

    def __init__(self, command: list[str], log: Path) -> None:
        self.log = log
        with log.open("ab") as file:
            self._process = subprocess.Popen(
                command,
                # Memory is cheap here, and collecting garbage takes a fifth of the time.
                env=os.environ | {"GOGC": "800"},
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                preexec_fn=_die_with_parent,
            )

    def wait_until(self, ready: Callable[[], bool], seconds: float = 60) -> None:
        """Return when it is ready; a Problem with its last words if it never is."""
        deadline = time.monotonic() + seconds
        while not ready():
            if self._process.poll() is not None or time.monotonic() > deadline:
                words = self.log.read_text(errors="replace").strip()[-1500:]
                raise Problem(f"{self.log.stem} did not get ready: {words}")
            time.sleep(0.05)

    def end(self) -> None:
        """Ask it to end, then make it."""
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def write_identities(folder: Path, server: str) -> None:
    """Certificates, and the kubeconfig of the scheduler."""
    server_identity = Identity("apiserver", "kube-apiserver", "kubernetes", ("localhost", LOOPBACK))
    admin = Identity("admin", "kubernetes-admin", "system:masters")
    scheduler = Identity("scheduler", "system:kube-scheduler", "kubernetes")
    Authority(folder / "pki").issue([server_identity, admin, scheduler])
    write_service_account_keys(folder / "pki")
    kubeconfig.write(
        folder / "scheduler.kubeconfig", kubeconfig.document("oracle", server, folder / "pki", "scheduler")
    )


def etcd(folder: Path, client_port: int, peer_port: int) -> Program:
    """A store that nothing survives: it need not wait for a disk."""
    client, peer = f"http://{LOOPBACK}:{client_port}", f"http://{LOOPBACK}:{peer_port}"
    command = [str(ensure(TOOLS["etcd"]) / "etcd"), "--unsafe-no-fsync", "--log-level=warn", "--name=default"]
    command += flags(
        data_dir=folder / "etcd",
        listen_client_urls=client,
        advertise_client_urls=client,
        listen_peer_urls=peer,
        initial_advertise_peer_urls=peer,
        initial_cluster=f"default={peer}",
    )
    return Program(command, folder / "etcd.log")


def api_server(folder: Path, port: int, etcd_port: int) -> Program:
    """An API server that allows all that is valid."""
    pki = folder / "pki"
    command = [str(_kubernetes() / "kube-apiserver"), "--allow-privileged"]
    command += flags(
        etcd_servers=f"http://{LOOPBACK}:{etcd_port}",
        advertise_address=LOOPBACK,
        bind_address=LOOPBACK,
        secure_port=port,
        endpoint_reconciler_type="none",
        service_cluster_ip_range="10.96.0.0/16",
        authorization_mode="AlwaysAllow",
        disable_admission_plugins=ADMISSION_OFF,
        enable_priority_and_fairness="false",
        client_ca_file=pki / "ca.crt",
        tls_cert_file=pki / "apiserver.crt",
        tls_private_key_file=pki / "apiserver.key",
        service_account_issuer="https://kubernetes.default.svc.cluster.local",
        service_account_key_file=pki / "sa.pub",
        service_account_signing_key_file=pki / "sa.key",
        delete_collection_workers=4,
        # A pod can ask for this feature of a node only where the API knows it.
        feature_gates="UserNamespacesHostNetworkSupport=true",
    )
    return Program(command, folder / "kube-apiserver.log")


def scheduler(folder: Path, configuration: Path, port: int) -> Program:
    """The real kube-scheduler, with unauthenticated metrics."""
    command = [str(_kubernetes() / "kube-scheduler"), "--v=2", f"--vmodule={VERBOSITY}"]
    command += flags(
        config=configuration,
        bind_address=LOOPBACK,
        secure_port=port,
        disabled_metrics=METRICS_OFF,
        authorization_always_allow_paths="/healthz,/readyz,/livez,/metrics",
        tls_cert_file=folder / "pki" / "apiserver.crt",
        tls_private_key_file=folder / "pki" / "apiserver.key",
    )
    return Program(command, folder / "kube-scheduler.log")


def free_ports(count: int) -> list[int]:
    """Free ports of the loopback."""
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind((LOOPBACK, 0))
        return [one.getsockname()[1] for one in sockets]


def _kubernetes() -> Path:
    # Other versions decide otherwise; this is the one that we follow.
    return ensure(kubernetes(DEFAULT_KUBERNETES))


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
