"""What a full cluster takes on a machine meets nothing that is there."""

from ipaddress import IPv4Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from localcluster.address_plan import NODE_POOLS, POD_POOLS, SERVICE_POOLS, Network, belongs_to_some_cluster, choose
from localcluster.errors import Problem

FIRST = Network("pilotage0", "172.30.0.0/24", "10.244.0.0/19", "10.96.0.0/24")
POOLS = [IPv4Network(pool) for pools in (NODE_POOLS, POD_POOLS, SERVICE_POOLS) for pool in pools]


def networks(*ranges: str) -> list[IPv4Network]:
    return [IPv4Network(range_) for range_ in ranges]


def ranges_of(network: Network) -> list[IPv4Network]:
    return networks(network.nodes, network.pods, network.services)


@pytest.mark.parametrize(
    ("routed", "names", "chosen"),
    [
        pytest.param([], [], FIRST, id="an empty machine gives the first of everything"),
        pytest.param(["172.17.0.0/16", "192.168.1.0/24"], ["eth0", "docker0"], FIRST, id="Docker's own is not met"),
        pytest.param(
            ["172.30.0.0/24", "10.244.0.0/19", "10.244.1.0/24", "10.96.0.0/24"],
            ["pilotage0", "pilotage0-1"],
            Network("pilotage1", "172.30.1.0/24", "10.244.32.0/19", "10.96.1.0/24"),
            id="the second cluster gets the second of everything",
        ),
        pytest.param(
            ["10.0.0.0/8"],
            [],
            Network("pilotage0", "172.30.0.0/24", "172.24.0.0/19", "172.29.0.0/24"),
            id="a machine that routes all of 10/8 has other homes for pods and services",
        ),
        pytest.param(
            ["172.16.0.0/12"],
            [],
            Network("pilotage0", "192.168.192.0/24", "10.244.0.0/19", "10.96.0.0/24"),
            id="a machine that routes all of 172.16/12 has another home for nodes",
        ),
        pytest.param(["10.244.7.9/32"], [], Network("pilotage0", FIRST.nodes, "10.244.32.0/19", FIRST.services),
                     id="one address is enough to leave a range alone"),
        pytest.param([], ["pilotage0-2"], Network("pilotage1", FIRST.nodes, FIRST.pods, FIRST.services),
                     id="a control group without a bridge keeps its name, too"),
    ],
)  # fmt: skip
def test_what_is_chosen(routed: list[str], names: list[str], chosen: Network) -> None:
    assert choose(networks(*routed), names) == chosen


@pytest.mark.parametrize(
    ("routed", "whose"),
    [(NODE_POOLS, "nodes"), (POD_POOLS, "pods"), (SERVICE_POOLS, "services")],
    ids=["no room for nodes", "no room for pods", "no room for services"],
)
def test_a_machine_that_routes_everything_is_told_what_to_do(routed: tuple[str, ...], whose: str) -> None:
    with pytest.raises(Problem, match=f"no free range for {whose}: .* use --shape control-plane"):
        choose(networks(*routed), [])


def test_no_more_names_than_there_are() -> None:
    with pytest.raises(Problem, match="64 full clusters are on this machine already; delete one"):
        choose([], [f"pilotage{number}" for number in range(64)])


def test_pools_share_no_address() -> None:
    met = [(str(one), str(other)) for one in POOLS for other in POOLS if one is not other and one.overlaps(other)]
    assert met == []


@st.composite
def routes(draw: st.DrawFn) -> IPv4Network:
    """A route near one of the pools, of any size from one address to all of 10/8."""
    pool = draw(st.sampled_from(POOLS))
    address = draw(st.integers(int(pool.network_address), int(pool.broadcast_address)))
    return IPv4Network((address, draw(st.integers(8, 32))), strict=False)


@given(routed=st.lists(routes(), max_size=12), numbers=st.sets(st.integers(0, 12)))
def test_whatever_the_machine_routes_nothing_is_met(routed: list[IPv4Network], numbers: set[int]) -> None:
    names = {f"pilotage{number}" for number in numbers}
    try:
        chosen = choose(routed, names)
    except Problem:
        return
    assert chosen.bridge not in names
    mine = ranges_of(chosen)
    assert not any(range_.overlaps(route) for range_ in mine for route in routed)
    assert not any(one.overlaps(other) for one in mine for other in mine if one is not other)


@given(count=st.integers(2, 40))
def test_clusters_one_after_the_other_share_nothing(count: int) -> None:
    taken: list[Network] = []
    for _ in range(count):
        routed = [range_ for network in taken for range_ in ranges_of(network)]
        taken.append(choose(routed, [network.bridge for network in taken]))
    everything = [range_ for network in taken for range_ in ranges_of(network)]
    assert len({network.bridge for network in taken}) == count
    assert not any(one.overlaps(other) for one in everything for other in everything if one is not other)


def test_nodes_pods_and_services_have_addresses_of_their_own() -> None:
    assert FIRST.gateway == "172.30.0.1"
    assert [FIRST.node_address(number) for number in (1, 20)] == ["172.30.0.11", "172.30.0.30"]
    assert [FIRST.pod_range(number) for number in (2, 20)] == ["10.244.2.0/24", "10.244.20.0/24"]
    assert (FIRST.service_router, FIRST.dns) == ("10.96.0.1", "10.96.0.10")
    assert FIRST.node_name(3) == "pilotage0-3"


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("pilotage0", True),
        ("pilotage12-20", True),
        ("pilotage", False),
        ("pilotage-demo", False),
        ("pilotage0-x", False),
        ("eth0", False),
        ("my-pilotage0", False),
    ],
)
def test_what_belongs_to_a_cluster_is_known_by_its_name(name: str, ours: bool) -> None:
    assert belongs_to_some_cluster(name) is ours


@pytest.mark.parametrize("number", [0, 63])
def test_the_longest_name_fits_a_link(number: int) -> None:
    assert len(Network(f"pilotage{number}", "", "", "").node_name(20)) <= 15
