"""The network of the full shape: a bridge on the machine, one network namespace per node, plain routes.

    machine 172.30.0.1 ── bridge ──┬── veth ── node 1  172.30.0.11   pods 10.244.1.0/24
                                   └── veth ── node 2  172.30.0.12   pods 10.244.2.0/24

The namespaces are files that are mounted only inside the cluster's own mount namespace, so they end with it.
"""

import ipaddress
import json
from pathlib import Path

from cluster.errors import Problem
from cluster.paths import state_dir
from cluster.shell import run

BRIDGE = "pilotage0"
NODE_RANGE = "172.30.0.0/24"
GATEWAY = "172.30.0.1"
POD_RANGE = "10.244.0.0/16"
SERVICE_RANGE = "10.96.0.0/24"
SERVICE_ROUTER = "10.96.0.1"  # the API server's own service address
DNS_ADDRESS = "10.96.0.10"


def node_address(number: int) -> str:
    """The address of node 1, 2, ..."""
    return f"172.30.0.{10 + number}"


def pod_range(number: int) -> str:
    """The addresses of the pods of node 1, 2, ..."""
    return f"10.244.{number}.0/24"


def namespace_file(folder: Path, number: int) -> Path:
    """Where the network namespace of a node is mounted."""
    return folder / "netns" / str(number)


def check_free() -> None:
    """Refuse to take a network that is in use; what a killed cluster left is removed."""
    # A node's link goes with the node: one that is there belongs to a cluster that runs.
    if any(link.startswith(f"{BRIDGE}-") for link in _links()):
        raise Problem(
            f"One full cluster fits on a machine, and one that is not in {state_dir()} runs here; "
            "delete it as the user and with the PILOTAGE_STATE that made it"
        )
    take_down()
    for route in json.loads(run("ip", "-json", "route", "show")):
        if route["dst"] != "default":
            _check_route(ipaddress.ip_network(route["dst"]), route["dev"])


def _check_route(destination: ipaddress.IPv4Network | ipaddress.IPv6Network, device: str) -> None:
    for ours in (NODE_RANGE, POD_RANGE, SERVICE_RANGE):
        if destination.overlaps(ipaddress.ip_network(ours)):
            raise Problem(
                f"The full shape uses {ours}, but this machine routes {destination} to {device}; "
                "remove that route or use --shape control-plane"
            )


def bring_up(folder: Path, nodes: int) -> None:
    """Make the bridge, and a namespace with an address and routes for each node."""
    run("ip", "link", "add", BRIDGE, "type", "bridge")
    run("ip", "address", "add", f"{GATEWAY}/24", "dev", BRIDGE)
    run("ip", "link", "set", BRIDGE, "up")
    (folder / "netns").mkdir(exist_ok=True)
    for number in range(1, nodes + 1):
        _add_node(namespace_file(folder, number), number, nodes)
        run("ip", "route", "add", pod_range(number), "via", node_address(number))
    # The machine (and so the API server) reaches services through the first node's kube-proxy.
    run("ip", "route", "add", SERVICE_RANGE, "via", node_address(1))


def _add_node(namespace: Path, number: int, nodes: int) -> None:
    namespace.touch()
    run("unshare", f"--net={namespace}", "true")
    veth = f"{BRIDGE}-{number}"
    run("ip", "link", "add", veth, "type", "veth", "peer", "name", "eth0", "netns", str(namespace))
    run("ip", "link", "set", veth, "master", BRIDGE, "up")

    def inside(*command: str) -> None:
        run("nsenter", f"--net={namespace}", *command)

    inside("ip", "link", "set", "lo", "up")
    inside("ip", "address", "add", f"{node_address(number)}/24", "dev", "eth0")
    inside("ip", "link", "set", "eth0", "up")
    inside("ip", "route", "add", "default", "via", GATEWAY)
    for other in range(1, nodes + 1):
        if other != number:
            inside("ip", "route", "add", pod_range(other), "via", node_address(other))
    inside("sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward")
    # Services seen from a pod on the same node need bridged packets to pass the rules; not every kernel has the switch.
    inside("sh", "-c", "echo 1 > /proc/sys/net/bridge/bridge-nf-call-iptables || true")


def take_down() -> None:
    """Remove what is left on the machine once the namespaces are gone."""
    for name in _links():
        if name.startswith(BRIDGE):
            # A veth may vanish by itself between the listing and here.
            run("sh", "-c", f"ip link delete {name} 2>/dev/null || ! ip link show {name} 2>/dev/null")


def _links() -> list[str]:
    return [link["ifname"] for link in json.loads(run("ip", "-json", "link", "show"))]
