"""The room for a gang, counted in columns: as many as the engine places where only resources matter."""

from collections.abc import Generator
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from kit.tiers import examples
from pilotage import app
from pilotage.offline.simulation import Simulation
from pilotage.scheduling.remedies.gang_room import MOST_STARTS, Room, counted
from pilotage.scheduling.remedies.gang_search import _fitting
from pilotage.scheduling.remedies.members import by_kind
from pilotage.scheduling.remedies.trying import Tries
from pilotage.testing import make_node, make_pod

NODES = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 8), st.sampled_from([1, 2, 110])), min_size=1, max_size=6)


def finished(steps: Generator[None, None, Any]) -> Any:
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


def cluster(nodes: list[tuple[int, int, int]]) -> Simulation:
    simulated = app.simulation(app.configured(None).profiles())
    for number, (cpu, memory, pods) in enumerate(nodes):
        simulated.add(make_node(f"n{number}", cpu=str(cpu), memory=f"{memory}Gi", pods=pods))
    return simulated


def tries_in(simulated: Simulation, pod: Any) -> Tries:
    return Tries(simulated.cache, simulated.engines["default-scheduler"], simulated.queue.nominator, pod)


def count(simulated: Simulation, pods: list[Any], needed: int) -> Room | None:
    kinds = finished(by_kind(pods))
    found: Room | None = finished(counted(tries_in(simulated, pods[0]), kinds, needed))
    return found


@examples(60, deadline=None, suppress_health_check=list(HealthCheck))
@given(nodes=NODES, cpu=st.integers(0, 3), memory=st.integers(1, 4), number=st.integers(1, 12))
def test_of_identical_pods_as_many_as_the_engine_places(
    nodes: list[tuple[int, int, int]], cpu: int, memory: int, number: int
) -> None:
    simulated = cluster(nodes)
    pods = [make_pod(f"p{each}", cpu=str(cpu), memory=f"{memory}Gi") for each in range(number)]
    room = count(simulated, pods, number)
    assert room is not None
    assert room.fits == finished(_fitting(tries_in(simulated, pods[0]), pods, number))
    assert room.asked.get("memory", 0) == (number - room.fits) * memory << 30


def test_pods_of_several_kinds_do_not_use_the_same_room() -> None:
    simulated = cluster([(4, 8, 110), (4, 8, 110)])
    pods = [make_pod(f"big-{each}", cpu="3") for each in range(3)] + [
        make_pod(f"s{each}", cpu="1") for each in range(4)
    ]
    room = count(simulated, pods, 7)
    assert room == Room(4, {"cpu": 3000 + 2 * 1000}), "the largest ones are counted first: 2 big ones, 2 small ones"
    assert room.told(7) == ("3 of 7 pods find no room at once, counted by free resources; together they ask for cpu 5")


def test_no_more_are_counted_than_are_needed() -> None:
    simulated = cluster([(4, 8, 110)])
    assert count(simulated, [make_pod(f"p{each}", cpu="1") for each in range(9)], 3) == Room(3)


def test_nodes_with_another_obstacle_do_not_count() -> None:
    simulated = cluster([(4, 8, 110)])
    simulated.add(make_node("tainted", cpu="64", taints=[{"key": "x", "effect": "NoSchedule"}]))
    room = count(simulated, [make_pod(f"p{each}", cpu="1") for each in range(9)], 9)
    assert room == Room(4, {"cpu": 5000})


@pytest.mark.parametrize(("changes", "fits"), [(1, 5), (MOST_STARTS, None)], ids=["once", "all the time"])
def test_nodes_come_and_go_in_between(changes: int, fits: int | None) -> None:
    simulated = cluster([(4, 8, 110)])
    pods = [make_pod(f"p{each}", cpu="1") for each in range(9)]
    tries, kinds, number = tries_in(simulated, pods[0]), finished(by_kind(pods)), 0

    def changing() -> Generator[None, None, Room | None]:
        nonlocal number
        steps = counted(tries, kinds, 9)
        while True:
            try:
                next(steps)
            except StopIteration as end:
                found: Room | None = end.value
                return found
            if number < changes:
                number += 1
                simulated.add(make_node(f"new-{number}", cpu="1"))
            yield

    room = finished(changing())
    assert (None if room is None else room.fits) == fits
