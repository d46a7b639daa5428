"""What we know of one cluster: written before anything starts, read by everything that touches it later."""

import fcntl
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

from localcluster.address_plan import UNROUTED, Network
from localcluster.errors import Problem
from localcluster.paths import state_dir

Shape = Literal["control-plane", "full"]
SHAPES: tuple[Shape, ...] = ("control-plane", "full")
LONGEST_SOCKET_PATH = 100  # the kernel takes 107 bytes
# Of a full cluster that was made when there could be one only, and did not record it.
ONLY_NETWORK = {
    "bridge": "pilotage0",
    "nodes": "172.30.0.0/24",
    "pods": "10.244.0.0/16",
    "services": "10.96.0.0/24",
}


@dataclass(frozen=True)
class Ports:
    """The loopback ports of a cluster; api is on the bridge in the full shape."""

    api: int
    etcd: int
    etcd_peer: int
    kwok: int
    scheduler: int


@dataclass(frozen=True)
class Cluster:
    """One cluster: its settings and where its files are."""

    name: str
    shape: Shape
    kubernetes: str
    workers: int
    host: str  # where the API server listens
    ports: Ports
    with_scheduler: bool
    with_fake_nodes: bool
    kubeconfig: str  # the user's file that got an entry
    binaries: dict[str, str]  # command -> path
    network: Network = UNROUTED
    feature_gates: str = ""
    runtime_config: str = ""
    registries: list[str] = field(default_factory=list)  # on this machine, beside the usual one

    @property
    def folder(self) -> Path:
        """Everything of this cluster is under here."""
        return folder_of(self.name)

    @property
    def pki(self) -> Path:
        """Certificates and keys."""
        return self.folder / "pki"

    @property
    def logs(self) -> Path:
        """One log per component."""
        return self.folder / "logs"

    @property
    def audit_log(self) -> Path:
        """Who bound which pod, and what watched accounts asked for; one JSON object per line."""
        return self.folder / "audit" / "audit.log"

    @property
    def ready_file(self) -> Path:
        """There once the cluster was seen to work: before, a dead program is a failed creation."""
        return self.folder / "ready"

    @property
    def pid_namespace_file(self) -> Path:
        """Names the PID namespace of a full cluster, whose end is the end of its containers."""
        return self.folder / "pid-namespace"

    @property
    def server(self) -> str:
        """The address of the API server."""
        return f"https://{self.host}:{self.ports.api}"

    @property
    def context(self) -> str:
        """The name of this cluster in a kubeconfig."""
        return f"kind-{self.name}"

    @property
    def nodes(self) -> list[str]:
        """The real nodes, named as kind names its workers."""
        return [f"{self.name}-worker{number if number > 1 else ''}" for number in range(1, self.workers + 1)]

    def identity_kubeconfig(self, identity: str) -> Path:
        """The kubeconfig of one of the cluster's own identities."""
        return self.folder / "kubeconfig" / f"{identity}.yaml"

    def save(self) -> None:
        """Write the record, whole or not at all."""
        unfinished = self.folder / ".cluster.json"
        unfinished.write_text(json.dumps(asdict(self), indent=1))
        unfinished.replace(self.folder / "cluster.json")


def folder_of(name: str) -> Path:
    """The folder of the cluster of this name, whether it exists or not."""
    return state_dir() / name


def check_name(name: str) -> None:
    """Refuse a name that cannot be a host name or makes socket paths too long."""
    if not re.fullmatch(r"[a-z0-9]([a-z0-9.-]{0,38}[a-z0-9])?", name):
        raise Problem(f"{name!r} is not a valid cluster name: use up to 40 lower-case letters, digits, '-' and '.'")
    if len(str(folder_of(name) / "nodes" / "99" / "containerd.sock.ttrpc")) > LONGEST_SOCKET_PATH:
        raise Problem(f"The path {folder_of(name)} is too long for sockets; set PILOTAGE_STATE to a shorter folder")


def load(name: str) -> Cluster | None:
    """The record of a cluster, or None if there is none that got far enough to have one."""
    try:
        content = json.loads((folder_of(name) / "cluster.json").read_text())
    except (FileNotFoundError, NotADirectoryError):
        return None
    network = content.get("network", ONLY_NETWORK if content["shape"] == "full" else asdict(UNROUTED))
    content.setdefault("with_fake_nodes", True)
    return Cluster(**content | {"ports": Ports(**content["ports"]), "network": Network(**network)})


def load_existing(name: str) -> Cluster:
    """The record of a cluster that must exist."""
    if cluster := load(name):
        return cluster
    known = ", ".join(cluster_names()) or "none"
    raise Problem(f"There is no cluster {name!r} (existing: {known}); create it with: create cluster --name {name}")


def cluster_names() -> list[str]:
    """The clusters of this user that have files, running or not."""
    return sorted(path.name for path in state_dir().glob("*") if path.is_dir())


def networks() -> list[Network]:
    """What the clusters of this user have taken on the machine, running or not."""
    return [cluster.network for cluster in _all() if cluster.shape == "full"]


def ports() -> set[int]:
    """The loopback ports of the clusters of this user, running or not."""
    return {port for cluster in _all() for port in asdict(cluster.ports).values()}


def _all() -> list[Cluster]:
    return [cluster for name in cluster_names() if (cluster := load(name))]


@contextmanager
def in_creation(name: str) -> Iterator[None]:
    """Mark this cluster as being created, until that is done or has died."""
    with _creation_file(name).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def is_in_creation(name: str) -> bool:
    """Whether this cluster is being created."""
    try:
        with _creation_file(name).open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        return False
    return False


def _creation_file(name: str) -> Path:
    return folder_of(name) / "creation.lock"


def retain(name: str) -> None:
    """Keep what a failed creation left, for inspection, until it is deleted."""
    folder = folder_of(name)
    if folder.exists():
        (folder / "retained").touch()


def is_retained(name: str) -> bool:
    """Whether what is left of this cluster is kept for inspection."""
    return (folder_of(name) / "retained").exists()
