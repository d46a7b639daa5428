"""The network of the full shape: a bridge on the machine, one network namespace per node, plain routes.

    machine 172.30.0.1 ── pilotage0 ──┬── veth ── node 1  172.30.0.11   pods 10.244.1.0/24
                                      └── veth ── node 2  172.30.0.12   pods 10.244.2.0/24

The next cluster has the bridge pilotage1 and ranges of its own. A bridge carries the folder of its cluster as its
alias: who finds one knows whose it is. All routes lead through the bridge and go with it. The namespaces are files that
are mounted only inside the cluster's own mount namespace, so they end with it.
"""

import fcntl
import json
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

from localcluster import address_plan, cgroups, isolation, limits
from localcluster.address_plan import Network, belongs_to_some_cluster
from localcluster.processes import processes_of
from localcluster.shell import run

LINKS = Path("/sys/class/net")


def namespace_file(folder: Path, number: int) -> Path:
    """Where the network namespace of a node is mounted."""
    return folder / "netns" / str(number)


@contextmanager
def locked() -> Iterator[None]:
    """What one creation found free on the machine must not be found free by another."""
    # The list of links is there on every machine, and locking it leaves no file behind.
    descriptor = os.open(LINKS, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def find_free(recorded: Collection[Network]) -> Network:
    """A network that nothing on this machine and none of the recorded clusters uses; to be called and taken locked."""
    _remove_abandoned()
    ranges = [IPv4Network(range_) for each in recorded for range_ in (each.nodes, each.pods, each.services)]
    names = [*_links(), *cgroups.names(), *(each.bridge for each in recorded)]
    return address_plan.choose([*_routed(), *ranges], names)


def take(network: Network, folder: Path) -> None:
    """Make the bridge and lead all ranges to it, so that everybody sees whose they are."""
    run("ip", "link", "add", network.bridge, "type", "bridge")
    run("ip", "link", "set", network.bridge, "alias", str(folder))
    run("ip", "address", "add", f"{network.gateway}/24", "dev", network.bridge)
    run("ip", "link", "set", network.bridge, "up")
    for range_ in (network.pods, network.services):
        run("ip", "route", "add", range_, "dev", network.bridge)
    isolation.make_folders()
    limits.raise_them()


def bring_up(network: Network, folder: Path, nodes: int) -> None:
    """Add a namespace with an address and routes for each node."""
    (folder / "netns").mkdir(exist_ok=True)
    for number in range(1, nodes + 1):
        _add_node(network, namespace_file(folder, number), number, nodes)
        run("ip", "route", "add", network.pod_range(number), "via", network.node_address(number))
    # The machine (and so the API server) reaches services through the first node's kube-proxy.
    run("ip", "route", "replace", network.services, "via", network.node_address(1))


def _add_node(network: Network, namespace: Path, number: int, nodes: int) -> None:
    namespace.touch()
    run("unshare", f"--net={namespace}", "true")
    veth = network.node_name(number)
    run("ip", "link", "add", veth, "type", "veth", "peer", "name", "eth0", "netns", str(namespace))
    run("ip", "link", "set", veth, "master", network.bridge, "up")

    def inside(*command: str) -> None:
        run("nsenter", f"--net={namespace}", *command)

    inside("ip", "link", "set", "lo", "up")
    inside("ip", "address", "add", f"{network.node_address(number)}/24", "dev", "eth0")
    inside("ip", "link", "set", "eth0", "up")
    inside("ip", "route", "add", "default", "via", network.gateway)
    for other in range(1, nodes + 1):
        if other != number:
            inside("ip", "route", "add", network.pod_range(other), "via", network.node_address(other))
    inside("sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward")
    # Services seen from a pod on the same node need bridged packets to pass the rules; not every kernel has the switch.
    inside("sh", "-c", "echo 1 > /proc/sys/net/bridge/bridge-nf-call-iptables || true")


def give_back(network: Network, folder: Path) -> None:
    """Remove what a cluster whose processes are gone has on the machine; what belongs to others by now stays."""
    with locked():
        if _owners().get(network.bridge, str(folder)) == str(folder):
            _remove(network.bridge)


def _remove_abandoned() -> None:
    """Remove the bridges of clusters of which neither a folder nor a process is left."""
    for bridge, owner in _owners().items():
        # A node's link goes with the node: a bridge that says nothing but has one belongs to a cluster that runs.
        alive = (Path(owner).exists() or processes_of(Path(owner))) if owner else _links_of_nodes(bridge)
        if not alive:
            _remove(bridge)


def _remove(bridge: str) -> None:
    for name in [*_links_of_nodes(bridge), *([bridge] if bridge in _links() else [])]:
        # A veth may vanish by itself between the listing and here.
        run("sh", "-c", f"ip link delete {name} 2>/dev/null || ! ip link show {name} 2>/dev/null")
    cgroups.remove(bridge)
    if not _owners():
        isolation.remove_made_folders()
        limits.put_them_back()


def _links_of_nodes(bridge: str) -> list[str]:
    return [name for name in _links() if name.startswith(f"{bridge}-") and belongs_to_some_cluster(name)]


def _owners() -> dict[str, str]:
    """Bridge -> the folder of its cluster, "" if it says none; for all full clusters of the machine."""
    bridges = {name: str(link.get("ifalias", "")) for name, link in _links().items() if "-" not in name}
    return {name: owner for name, owner in bridges.items() if belongs_to_some_cluster(name)}


def _links() -> Mapping[str, Any]:
    return {link["ifname"]: link for link in json.loads(run("ip", "-json", "link", "show"))}


def _routed() -> list[IPv4Network]:
    """Every routed range of the machine: a VPN may use its own routing table."""
    routes = json.loads(run("ip", "-json", "-4", "route", "show", "table", "all"))
    return [IPv4Network(route["dst"]) for route in routes if route["dst"] != "default"]
