"""Creates and deletes clusters; a creation that fails or is interrupted leaves nothing behind."""

import fcntl
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from localcluster import component, control_plane, keeper, kubeconfig, network, record, registries
from localcluster.address_plan import UNROUTED, Network
from localcluster.api import Api
from localcluster.binaries import TOOLS, Tool, kubernetes
from localcluster.build import ensure
from localcluster.errors import Problem
from localcluster.interrupts import ignore_interrupts, interruptible
from localcluster.node import PACKAGES, nodes_of
from localcluster.node_images import node_archives
from localcluster.packages import ensure_packages
from localcluster.paths import state_dir
from localcluster.processes import end_processes, processes_in, processes_of, wait_for_end
from localcluster.progress import Step, say
from localcluster.record import Cluster, Ports, Shape

ROOM_FOR_STATE = 500 << 20
READY_SECONDS = 120
MOST_WORKERS = 20
FULL_API_PORT = 6443


@dataclass(frozen=True)
class Wish:
    """The user's settings for a new cluster."""

    name: str
    shape: Shape
    kubernetes: str
    workers: int
    api_port: int | None
    with_scheduler: bool
    with_fake_nodes: bool
    kubeconfig: Path
    retain: bool = False
    feature_gates: str = ""
    runtime_config: str = ""
    registries: tuple[str, ...] = ()


def create(wish: Wish) -> Cluster:
    """Create a cluster, and return when pods can be created on it."""
    _check(wish)
    binaries = _binaries(wish)
    with interruptible(), ExitStack() as creation, ExitStack() as choice:
        choice.enter_context(_one_at_a_time())
        _check_alone(wish)
        try:
            cluster = _claim(wish, binaries)
            creation.enter_context(record.in_creation(wish.name))
            # What it takes is on record: from here on others may be created beside it.
            choice.close()
            _start(cluster)
            kubeconfig.merge(wish.kubeconfig, _user_entry(cluster))
            if cluster.shape == "full":
                _install_dns(cluster)
        except BaseException:
            if wish.retain:
                record.retain(wish.name)
            else:
                _remove_failed(wish.name)
            raise
    return cluster


def delete(name: str) -> None:
    """Remove a cluster completely; it is not an error if it does not exist."""
    folder = record.folder_of(name)
    cluster = record.load(name)
    inside, has_keeper = _inside(cluster) if cluster else {}, bool(processes_of(folder))
    end_processes(folder)
    if not wait_for_end(inside) and has_keeper:
        raise Problem(f"Processes of the cluster do not end: {sorted(inside)}; kill them and delete the cluster again")
    if cluster and cluster.shape == "full":
        network.give_back(cluster.network, folder)
    if cluster:
        kubeconfig.remove(Path(cluster.kubeconfig), cluster.context)
    shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        raise Problem(f"{folder} cannot be removed; remove it manually")


def _inside(cluster: Cluster) -> dict[int, str]:
    """The processes that end with the keeper.

    Without a keeper they may still be ending, or the number of the namespace may be another's by now.
    """
    file = cluster.pid_namespace_file
    return processes_in(file.read_text()) if file.exists() else {}


def _check(wish: Wish) -> None:
    """Refuse, before anything is started, what cannot work."""
    record.check_name(wish.name)
    registries.check(wish.registries)
    kubernetes(wish.kubernetes)
    if wish.shape == "full":
        _check_full(wish)
    if wish.api_port:
        _check_port("127.0.0.1", wish.api_port)
    _check_room(state_dir())


def _check_full(wish: Wish) -> None:
    if os.geteuid() != 0:
        raise Problem(
            "The full shape needs root for network namespaces, mounts and control groups; "
            "run as root, or use --shape control-plane, which needs none"
        )
    if not 1 <= wish.workers <= MOST_WORKERS:
        raise Problem(f"{wish.workers} nodes are not supported: choose 1 to {MOST_WORKERS}, more only as fake nodes")
    if state_dir().is_relative_to("/run"):
        raise Problem("The full shape hides /run from itself; set PILOTAGE_STATE to a folder elsewhere")
    ensure_packages(PACKAGES, "The full shape")


def _check_alone(wish: Wish) -> None:
    """Refuse what another cluster, possibly of this very moment, already has."""
    _remove_dead(wish.name)
    if record.folder_of(wish.name).exists():
        raise Problem(
            f"A cluster {wish.name!r} already exists; delete it first (delete cluster --name {wish.name}) "
            "or choose another --name"
        )


def _remove_dead(name: str) -> bool:
    """Remove what is left of a cluster that ended with a restart of the machine."""
    folder = record.folder_of(name)
    if not folder.exists() or record.is_in_creation(name) or processes_of(folder) or record.is_retained(name):
        return False
    say(f"removing the remains of {name}, which is not running")
    delete(name)
    return True


def _check_port(host: str, port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise Problem(
                f"Port {port} is not free on {host} ({error.strerror}); stop its user, choose another port with "
                "--api-port, or leave it out to get a free one"
            ) from error


def _check_room(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise Problem(f"{folder} cannot be created ({error.strerror}); set PILOTAGE_STATE to another folder") from error
    if free < ROOM_FOR_STATE:
        raise Problem(
            f"A cluster needs {ROOM_FOR_STATE >> 20} MiB in {folder} and {free >> 20} MiB are free; "
            "free some space, or set PILOTAGE_STATE to a folder that has it"
        )


def tools_of(shape: Shape, version: str, *, with_fake_nodes: bool) -> list[Tool]:
    """The tools whose programs such a cluster runs."""
    tools = [TOOLS["etcd"], kubernetes(version)]
    tools += [TOOLS["kwok"]] if with_fake_nodes else []
    return [*tools, TOOLS["containerd"], TOOLS["coredns"], TOOLS["pause"]] if shape == "full" else tools


def _binaries(wish: Wish) -> dict[str, str]:
    tools = tools_of(wish.shape, wish.kubernetes, with_fake_nodes=wish.with_fake_nodes)
    folders = {tool.name: ensure(tool) for tool in tools}
    return {file.name: str(file) for folder in folders.values() for file in folder.iterdir()}


def _start(cluster: Cluster) -> None:
    beside = [name for name in record.cluster_names() if name != cluster.name]
    if beside and cluster.shape == "full":
        say(f"{cluster.name} gets {cluster.network.nodes} and runs beside {', '.join(beside)}")
    with Step(f"starting cluster {cluster.name} ({cluster.shape}, Kubernetes {cluster.kubernetes})"):
        _write_files(cluster)
        process = keeper.start(cluster)
        api = Api(cluster)
        _wait(cluster, process, lambda: (cluster.folder / "started").exists())
        _wait(cluster, process, lambda: api.answers("/api/v1/namespaces/default/serviceaccounts/default"))
        _wait(cluster, process, lambda: api.schedulable_nodes() >= set(cluster.nodes))
        cluster.ready_file.touch()


def _write_files(cluster: Cluster) -> None:
    nodes = nodes_of(cluster)
    if nodes:
        registries.write_files(cluster)
    control_plane.write_files(cluster, [node.identity() for node in nodes])
    programs = control_plane.components(cluster)
    archives = node_archives(cluster) if nodes else []
    for node in nodes:
        node.write_files()
        programs += node.components(archives)
    component.save(programs, cluster.folder)


def _claim(wish: Wish, binaries: dict[str, str]) -> Cluster:
    """A cluster on record, with a network and ports of its own."""
    if wish.shape == "control-plane":
        return _recorded(wish, binaries, UNROUTED)
    with network.locked():
        cluster = _recorded(wish, binaries, network.find_free(record.networks()))
        network.take(cluster.network, cluster.folder)
        return cluster


def _recorded(wish: Wish, binaries: dict[str, str], own: Network) -> Cluster:
    """The record, written before anything is allocated, so that a deletion finds everything there."""
    full = wish.shape == "full"
    free = _free_ports(5, record.ports())
    api_port = wish.api_port or (FULL_API_PORT if full else free[0])
    cluster = Cluster(
        name=wish.name,
        shape=wish.shape,
        kubernetes=wish.kubernetes,
        workers=wish.workers if full else 0,
        host=own.gateway if full else control_plane.LOOPBACK,
        ports=Ports(api=api_port, etcd=free[1], etcd_peer=free[2], kwok=free[3], scheduler=free[4]),
        with_scheduler=wish.with_scheduler,
        with_fake_nodes=wish.with_fake_nodes,
        kubeconfig=str(wish.kubeconfig),
        binaries=binaries,
        network=own,
        feature_gates=wish.feature_gates,
        runtime_config=wish.runtime_config,
        registries=list(wish.registries),
    )
    # Contains keys and tokens: private.
    cluster.folder.mkdir(parents=True, mode=0o700)
    cluster.save()
    return cluster


def _free_ports(count: int, recorded: Collection[int]) -> list[int]:
    """Ports that are free, and not recorded for another cluster."""
    free: list[int] = []
    with ExitStack() as held:
        while len(free) < count:
            one = held.enter_context(socket.socket())
            one.bind((control_plane.LOOPBACK, 0))
            free += {one.getsockname()[1]}.difference(recorded)
    return free


def _wait(cluster: Cluster, process: subprocess.Popen[bytes], condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while not condition():
        if process.poll() is not None:
            raise Problem(_why_it_failed(cluster))
        if time.monotonic() > deadline:
            raise Problem(f"The cluster {cluster.name!r} was not ready after {READY_SECONDS} s; keep it with --retain")
        time.sleep(0.1)


def _why_it_failed(cluster: Cluster) -> str:
    failure = cluster.folder / "failure"
    log = cluster.logs / "keeper.log"
    reason = failure.read_text() if failure.exists() else log.read_text(errors="replace").strip()[-600:]
    if "no space left on device" in reason:
        return f"The disk of {cluster.folder} is full; free some space, or set PILOTAGE_STATE to another folder"
    if "too many open files" in reason:
        return (
            f"The machine allows too few watchers of files ({reason}); run: sysctl fs.inotify.max_user_instances=1024"
        )
    if "address already in use" in reason:
        return f"A port of the cluster was taken meanwhile ({reason}); try again"
    return f"The cluster {cluster.name!r} did not start: {reason}; keep its logs with --retain"


def _user_entry(cluster: Cluster) -> dict[str, object]:
    return kubeconfig.document(cluster.context, cluster.server, cluster.pki, "admin")


def _install_dns(cluster: Cluster) -> None:
    kubectl = [cluster.binaries["kubectl"], f"--kubeconfig={cluster.identity_kubeconfig('admin')}"]
    manifest = Path(__file__).with_name("coredns.yaml").read_text().replace("DNS_ADDRESS", cluster.network.dns)
    rollout = ["-n", "kube-system", "rollout", "status", "deployment/coredns", "--timeout=60s"]
    steps = [["apply", "-f", "-"]] + ([rollout] if cluster.with_scheduler else [])
    with Step("installing DNS"):
        for step in steps:
            done = subprocess.run([*kubectl, *step], input=manifest, capture_output=True, text=True, check=False)
            if done.returncode:
                raise Problem(f"DNS did not start: {done.stderr.strip()}; keep the cluster with --retain")


def _remove_failed(name: str) -> None:
    ignore_interrupts()
    say(f"removing the failed cluster {name}")
    delete(name)


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """What one creation found free, a name or a port, must not be found free by another."""
    with (state_dir() / ".create.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
