"""The allocator after any changes: it answers for many nodes as for one, and as an allocator made anew."""

from itertools import chain
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kit.device_scene import Scene, claim, device, device_class, exactly, first_of, held, piece, selecting
from kit.drawn_devices import NODES, ZONES, holders, inventories, several_claims
from kit.tiers import examples
from pilotage.framework.api.nodes import Nodes
from pilotage.kinds.devices import Allocation, ResourceClaim, ResourceSlice
from pilotage.model.node import Node
from pilotage.plugins.devices.dynamic_resources.allocator import Ask
from pilotage.plugins.devices.dynamic_resources.answers import MOST_STEPS
from pilotage.plugins.devices.dynamic_resources.meter import STEPS_A_SECOND
from pilotage.plugins.devices.dynamic_resources.outcomes import (
    CANNOT_ALLOCATE,
    FAILED,
    FITS,
    INVALID_POOLS,
    AllocationFailed,
    NoSolution,
)
from pilotage.testing import FakeCluster, make_node


class World:
    """A cluster whose nodes, slices and claims change."""

    def __init__(self) -> None:
        self.cluster = FakeCluster()
        self.scene = Scene([])
        self.slices: dict[str, ResourceSlice] = {}
        self.held: dict[str, Allocation] = {}

    def put_slice(self, made: ResourceSlice) -> None:
        name = made.metadata.name
        self.scene.inventory.slice_changed(self.slices.get(name), made)
        self.slices[name] = made

    def drop_slice(self, name: str) -> None:
        self.scene.inventory.slice_changed(self.slices.pop(name), None)

    def take(self, uid: str, allocation: Allocation) -> None:
        self.held[uid] = allocation
        self.scene.usage.take(uid, allocation)

    def release(self, uid: str) -> None:
        self.held.pop(uid, None)
        self.scene.usage.release(uid)

    def anew(self) -> Scene:
        return Scene(self.slices.values(), taken=self.held.values())


def one_by_one(ask: Ask, nodes: Nodes) -> list[tuple[int, str, int]]:
    """Return code, text and score of each node, asked for alone."""
    found = []
    for info in nodes:
        try:
            outcome = ask.on_node(info.node)
        except AllocationFailed as error:
            found.append((FAILED, str(error), 0))
            continue
        if isinstance(outcome, NoSolution):
            found.append((INVALID_POOLS if outcome.invalid_pools else CANNOT_ALLOCATE, "", 0))
        else:
            found.append((FITS, "", outcome.score))
    return found


def together(ask: Ask, nodes: Nodes) -> list[tuple[int, str, int]]:
    """Return the same, asked for at once."""
    answered = ask.on_nodes(nodes)
    texts = [answered.failure(place) if code == FAILED else "" for place, code in enumerate(answered.codes)]
    return list(zip(answered.codes.tolist(), texts, ask.raw_scores(nodes).tolist(), strict=True))


def change(world: World, data: st.DataObject, slices: list[ResourceSlice]) -> None:
    """Change something."""
    what = data.draw(st.sampled_from(["slice", "drop", "take", "release", "node", "no node"]))
    if what == "slice" and slices:
        world.put_slice(data.draw(st.sampled_from(slices)))
    elif what == "drop" and world.slices:
        world.drop_slice(data.draw(st.sampled_from(sorted(world.slices))))
    elif what == "take":
        for number, allocation in enumerate(data.draw(holders(list(world.slices.values())))[:2]):
            world.take(f"holder-{number}", allocation)
    elif what == "release":
        world.release(data.draw(st.sampled_from(["holder-0", "holder-1"])))
    elif what == "node":
        world.cluster.cache.put_node(data.draw(nodes()))
    elif what == "no node":
        world.cluster.cache.remove_node(data.draw(st.sampled_from(NODES)))


def nodes() -> Any:
    """Return any of the nodes, with any label."""
    return st.builds(
        lambda name, zone: make_node(name, labels={"zone": zone}), st.sampled_from(NODES), st.sampled_from(ZONES)
    )


@given(inventories, inventories, several_claims, st.data())
@examples(100, deadline=None)
def test_after_any_changes_both_forms_agree_with_an_allocator_made_anew(
    slices: tuple[list[ResourceSlice], ...],
    others: tuple[list[ResourceSlice], ...],
    asked: tuple[ResourceClaim, ...],
    data: st.DataObject,
) -> None:
    world = World()
    for each in chain(*slices):
        world.put_slice(each)
    for name in NODES:
        world.cluster.cache.put_node(make_node(name, labels={"zone": data.draw(st.sampled_from(ZONES))}))
    everything = list(chain(*slices, *others))
    for _ in range(data.draw(st.integers(1, 6))):
        change(world, data, everything)
        nodes = world.cluster.nodes
        if data.draw(st.booleans()):
            nodes = nodes.take(np.array([place for place in range(len(nodes)) if place % 2], np.int32))
        ask = world.scene.allocator.ask(asked)
        found = together(ask, nodes)
        assert found == one_by_one(ask, nodes)
        assert found == together(world.anew().allocator.ask(asked), nodes)


def codes(scene: Scene, cluster: FakeCluster, *asked: ResourceClaim) -> list[int]:
    return list(scene.allocator.ask(asked).on_nodes(cluster.nodes).codes)


def of_each(names: list[str], devices: int = 1, **fields: Any) -> list[ResourceSlice]:
    made = [device(f"d{number}", **fields) for number in range(devices)]
    return [piece(f"slice-{name}", *made, pool=name, nodeName=name) for name in names]


def test_a_claim_takes_a_device_from_one_node_only() -> None:
    names = [f"n{number}" for number in range(5)]
    scene, cluster = Scene(of_each(names)), FakeCluster([make_node(name) for name in names])
    assert codes(scene, cluster, claim(exactly("r"))) == [FITS] * 5
    scene.usage.take("uid", held("d0", pool="n3"))
    assert codes(scene, cluster, claim(exactly("r"))) == [FITS, FITS, FITS, CANNOT_ALLOCATE, FITS]
    scene.usage.release("uid")
    assert codes(scene, cluster, claim(exactly("r"))) == [FITS] * 5


def test_a_device_of_the_network_is_taken_from_all_nodes() -> None:
    network = piece("s", device("d0"), nodeSelector=selecting(("zone", "In", ["x"])))
    cluster = FakeCluster([make_node(name, labels={"zone": zone}) for name, zone in (("n1", "x"), ("n2", "y"))])
    scene = Scene([network])
    assert codes(scene, cluster, claim(exactly("r"))) == [FITS, CANNOT_ALLOCATE]
    cluster.cache.put_node(make_node("n2", labels={"zone": "x"}))
    assert codes(scene, cluster, claim(exactly("r"))) == [FITS, FITS]
    scene.usage.take("uid", held("d0"))
    assert codes(scene, cluster, claim(exactly("r"))) == [CANNOT_ALLOCATE] * 2


def test_a_class_that_changes_is_another_question() -> None:
    scene, cluster = Scene(of_each(["n1"], model=1)), FakeCluster([make_node("n1")])
    assert codes(scene, cluster, claim(exactly("r"))) == [FITS]
    scene.classes["c"] = device_class("c", 'device.attributes["a"].model == 2')
    assert codes(scene, cluster, claim(exactly("r"))) == [CANNOT_ALLOCATE]


def test_a_copy_of_the_cluster_has_its_own_slots() -> None:
    names = ["n1", "n2"]
    scene = Scene(of_each(names[:1]))
    one, other = (FakeCluster([make_node(name) for name in order]) for order in (names, names[::-1]))
    for _ in range(2):
        assert codes(scene, one, claim(exactly("r"))) == [FITS, CANNOT_ALLOCATE]
        assert codes(scene, other, claim(exactly("r"))) == [CANNOT_ALLOCATE, FITS]


def test_scores_say_which_alternative_each_node_has() -> None:
    slices = [*of_each(["n1"], model=1), *of_each(["n2"], model=2), *of_each(["n3"], model=3)]
    cluster = FakeCluster([make_node(name) for name in ("n1", "n2", "n3")])
    ways = [exactly(f"s{model}", f'device.attributes["a"].model == {model}') for model in (1, 2)]
    scores = Scene(slices).allocator.ask([claim(first_of("r", *ways))]).raw_scores(cluster.nodes)
    assert scores.tolist() == [8, 7, 0]


def test_states_that_no_node_has_any_more_are_forgotten(monkeypatch: Any) -> None:
    monkeypatch.setattr("pilotage.plugins.devices.dynamic_resources.node_states.SPARE", 10)
    scene, cluster = Scene(of_each(["n1", "n2"], devices=8)), FakeCluster([make_node("n1"), make_node("n2")])
    for taken in range(256):
        for number in range(8):
            if taken >> number & 1:
                scene.usage.take(f"uid-{number}", held(f"d{number}", pool="n1"))
            else:
                scene.usage.release(f"uid-{number}")
        full = taken == 255
        assert codes(scene, cluster, claim(exactly("r"))) == [CANNOT_ALLOCATE if full else FITS, FITS]
    assert len(scene.allocator.states.by_number) < 30


HARD = claim(*[exactly(f"r{number}", f'device.attributes["a"].serial >= {number % 5}') for number in range(21)])
ENDLESS = [device(f"d{number}", serial=number) for number in range(20)]


def test_a_search_without_end_is_stopped_and_goes_on_later(monkeypatch: Any) -> None:
    node: Node = make_node("n1")
    scene, cluster = Scene([piece("s", *ENDLESS)], timeout=0.1), FakeCluster([node])
    ask, asked = scene.allocator.ask([HARD]), 0
    while (answered := ask.on_nodes(cluster.nodes)).unfinished[0]:
        asked += 1
        assert answered.codes.tolist() == [FAILED]
        assert answered.failure(0) == "node n1: timed out trying to allocate devices"
    assert asked * MOST_STEPS <= 0.1 * STEPS_A_SECOND <= (asked + 1) * MOST_STEPS
    assert answered.failure(0) == "node n1: timed out trying to allocate devices"


def test_a_search_without_end_does_not_keep_other_nodes_waiting() -> None:
    endless = [piece(f"s{number}", *ENDLESS[number:], pool=f"n{number}", nodeName=f"n{number}") for number in range(3)]
    easy = piece("easy", *[device(f"d{number}", serial=9) for number in range(32)], pool="easy", nodeName="n9")
    cluster = FakeCluster([make_node(f"n{number}") for number in (0, 1, 2, 9)])
    answered = Scene([*endless, easy]).allocator.ask([HARD]).on_nodes(cluster.nodes)
    assert answered.codes.tolist()[3] == FITS
    assert answered.unfinished[0]
