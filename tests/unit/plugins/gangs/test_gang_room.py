"""How much room there is for gangs: one look at the nodes for all of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.cache.cluster_cache import ClusterCache
from pilotage.framework.api.nodes import Ints, Nodes
from pilotage.plugins.gangs.coscheduling import gang_room
from pilotage.plugins.gangs.coscheduling.gang_room import FreeRoom, Wish
from pilotage.testing import make_node, make_pod


def cluster(*cpus: int) -> ClusterCache:
    cache = ClusterCache()
    for number, cpu in enumerate(cpus):
        cache.put_node(make_node(f"n{number}", cpu=cpu, memory="8Gi"))
    return cache


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.integers(1, 6), st.integers(0, 20))
def test_what_the_smallest_want_together(cpus: list[int], needed: int, free: int) -> None:
    pods = [make_pod(f"p{number}", cpu=cpu) for number, cpu in enumerate(cpus)]
    needed = min(needed, len(pods))
    least = dict(Wish.of(pods, needed).least)
    assert least["cpu"] == sum(sorted(1000 * cpu for cpu in cpus)[:needed])
    if not FreeRoom(cluster(free).nodes).could_fit(Wish.of(pods, needed)):
        assert sum(sorted(cpus)[:needed]) > free or len(set(cpus)) == 1


def test_who_wants_nothing_of_a_resource_is_among_the_smallest() -> None:
    pods = [make_pod("a", cpu=1), make_pod("b", cpu=1, requests={"cpu": "1", "example.com/gpu": "2"})]
    assert dict(Wish.of(pods, 1).least).get("example.com/gpu", 0) == 0
    assert dict(Wish.of(pods, 2).least)["example.com/gpu"] == 2


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """How often the nodes were looked at, one by one."""
    found: list[str] = []
    free = gang_room._free

    def noted(nodes: Nodes, resource: str) -> Ints:
        found.append(resource)
        return free(nodes, resource)

    monkeypatch.setattr(gang_room, "_free", noted)
    return found


def test_thousands_of_gangs_that_are_too_large_cost_one_look(looks: list[str]) -> None:
    cache = cluster(4, 4)
    room = FreeRoom(cache.nodes)
    for number in range(1_000):
        pods = [make_pod(f"p{each}", cpu=5 + number) for each in range(2)]
        assert not room.could_fit(Wish.of(pods, 2))
    assert looks == ["cpu"]
