"""Chooses names and addresses for a full cluster that conflict with nothing on the machine."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Network

from localcluster.errors import Problem

PREFIX = "pilotage"  # of all that a cluster has on the machine: pilotage0, and pilotage0-1 for its first node
MOST_CLUSTERS = 64

# Where ranges are looked for, in this order: machines that route all of 10.0.0.0/8 are common, so each has other homes.
NODE_POOLS = ("172.30.0.0/16", "192.168.192.0/18", "100.64.0.0/16")
POD_POOLS = ("10.244.0.0/14", "172.24.0.0/14", "100.96.0.0/12")
SERVICE_POOLS = ("10.96.0.0/16", "172.29.0.0/16", "100.80.0.0/16")
NODE_BITS, POD_BITS, SERVICE_BITS = 24, 19, 24  # 19: 32 times /24, one of them for each node


@dataclass(frozen=True)
class Network:
    """What one cluster calls its own: the bridge, and the ranges of nodes, pods and services."""

    bridge: str
    nodes: str
    pods: str
    services: str

    @property
    def gateway(self) -> str:
        """The machine's own address on the bridge, where the API server listens."""
        return _address(self.nodes, 1)

    @property
    def service_router(self) -> str:
        """The API server's own service address."""
        return _address(self.services, 1)

    @property
    def dns(self) -> str:
        """The service address of the cluster's DNS."""
        return _address(self.services, 10)

    def node_address(self, number: int) -> str:
        """The address of node 1, 2, ..."""
        return _address(self.nodes, 10 + number)

    def pod_range(self, number: int) -> str:
        """The addresses of the pods of node 1, 2, ..."""
        return str(list(IPv4Network(self.pods).subnets(new_prefix=24))[number])

    def node_name(self, number: int) -> str:
        """The name on the machine of what belongs to node 1, 2, ...: its link, and its control group."""
        return f"{self.bridge}-{number}"


# A control plane with fake nodes takes nothing on the machine; its services have addresses that lead nowhere.
UNROUTED = Network(bridge="", nodes="", pods="", services="10.96.0.0/24")


def choose(routed: Collection[IPv4Network], names: Collection[str]) -> Network:
    """Choose a network that conflicts with no route of the machine and no name in use; a Problem if there is none."""
    return Network(
        bridge=_free_name(names),
        nodes=_free_range("nodes", NODE_POOLS, NODE_BITS, routed),
        pods=_free_range("pods", POD_POOLS, POD_BITS, routed),
        services=_free_range("services", SERVICE_POOLS, SERVICE_BITS, routed),
    )


def belongs_to_some_cluster(name: str) -> bool:
    """Whether a bridge, link or control group of this name is one of ours."""
    number, _, node = name.removeprefix(PREFIX).partition("-")
    return name.startswith(PREFIX) and number.isdigit() and (not node or node.isdigit())


def _free_name(names: Collection[str]) -> str:
    taken = {name.partition("-")[0] for name in names}
    for number in range(MOST_CLUSTERS):
        if f"{PREFIX}{number}" not in taken:
            return f"{PREFIX}{number}"
    raise Problem(f"{MOST_CLUSTERS} full clusters are on this machine already; delete one of them first")


def _free_range(whose: str, pools: tuple[str, ...], bits: int, routed: Collection[IPv4Network]) -> str:
    for candidate in _candidates(pools, bits):
        if not any(candidate.overlaps(taken) for taken in routed):
            return str(candidate)
    raise Problem(
        f"There is no free range for {whose}: this machine routes all of {', '.join(pools)}; "
        "remove a route or a cluster, or use --shape control-plane, which needs none"
    )


def _candidates(pools: tuple[str, ...], bits: int) -> Iterator[IPv4Network]:
    for pool in pools:
        yield from IPv4Network(pool).subnets(new_prefix=bits)


def _address(network: str, number: int) -> str:
    return str(IPv4Network(network)[number])
