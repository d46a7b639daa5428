"""A made-up cluster with a scheduler that does everything right, seen through three streams that lag as they like."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.node import node_of
from auditor.occupancy import Occupancy
from auditor.pod import Pod, pod_of
from auditor.testing import DELETING, GATED, MORNING, Raw, Step, World, bind, gone, node, pod, seen
from kit.tiers import examples

GRACE = 5.0
SEEDS = st.integers(0, 2**32)
STREAMS = ("pods", "nodes", "log")


class Cluster:
    """The truth: what happened when, and by which stream it is told."""

    def __init__(self, seed: int) -> None:
        self.draw = Random(seed).randint
        self.now = MORNING + 1
        self.told: list[tuple[float, str, Step]] = []
        self.pods: dict[str, Raw] = {}
        self.cpu: dict[str, int] = {}
        for name in ("n1", "n2"):
            self.resize_node(name, 4)

    def tell(self, stream: str, step: Step) -> None:
        self.told.append((self.now, stream, step))

    def resize_node(self, name: str, cpu: int) -> None:
        self.cpu[name] = cpu
        self.tell("nodes", seen(node(name, cpu=str(cpu), pods="100")))

    def used(self, name: str) -> int:
        here = [
            p for p in self.pods.values() if p["spec"].get("nodeName") == name and p["status"]["phase"] == "Pending"
        ]
        return sum(int(p["spec"]["containers"][0]["resources"]["requests"]["cpu"]) for p in here)

    def change(self, name: str, changed: Raw) -> None:
        self.pods[name] = changed
        self.tell("pods", seen(changed))

    def create(self) -> None:
        name = f"p{len(self.told)}"
        gates = GATED if self.draw(0, 4) == 0 else {}
        self.change(name, pod(name, cpu=str(self.draw(0, 3)), **gates))

    def act_on_a_pod(self) -> None:
        name = sorted(self.pods)[self.draw(0, len(self.pods) - 1)]
        found = self.pods[name]
        meta, spec, status = found["metadata"], found["spec"], found["status"]
        if "deletionTimestamp" in meta:
            del self.pods[name]
            self.tell("pods", gone(name))
        elif self.draw(0, 4) == 0:
            self.change(name, {**found, "metadata": {**meta, **DELETING}})
        elif "schedulingGates" in spec:
            self.change(name, {**found, "spec": {k: v for k, v in spec.items() if k != "schedulingGates"}})
        elif "nodeName" in spec:
            self.change(name, {**found, "status": {**status, "phase": "Succeeded"}})
        else:
            self.schedule(name, found)

    def schedule(self, name: str, found: Raw) -> None:
        cpu = int(found["spec"]["containers"][0]["resources"]["requests"]["cpu"])
        for where, size in self.cpu.items():
            if cpu == 0 or self.used(where) + cpu <= size:
                self.tell("log", bind(name, to=where, at=self.now))
                self.change(name, {**found, "spec": {**found["spec"], "nodeName": where}})
                if self.draw(0, 3) == 0:
                    self.tell("log", bind(name, to=where, code=409, at=self.now))  # a second replica, a moment too late
                return

    def live(self, steps: int) -> None:
        for _ in range(steps):
            self.now += self.draw(0, 3) / 2
            choice = self.draw(0, 9)
            if choice < 3 or not self.pods:
                self.create()
            elif choice == 3:
                self.resize_node("n1", self.draw(1, 8))
            else:
                self.act_on_a_pod()


def deliveries(cluster: Cluster) -> list[tuple[float, float, Step]]:
    """Return when each event is seen and when it happened; within a stream the order is kept."""
    last = dict.fromkeys(STREAMS, 0.0)
    seen_at = []
    for at, stream, step in cluster.told:
        lag = cluster.draw(0, 6) / 4
        last[stream] = max(last[stream], at + lag)
        seen_at.append((last[stream], at, step))
    return sorted(seen_at, key=lambda delivery: delivery[0])


def watch(cluster: Cluster) -> World:
    world = World(grace=GRACE, wait_limit=10_000)
    for seen_at, _, step in deliveries(cluster):
        world.pass_time(seen_at - world.now)
        step(world)
    return world


@examples(150)
@given(SEEDS, st.integers(1, 60))
def test_a_legal_history_breaks_no_rule(seed: int, steps: int) -> None:
    cluster = Cluster(seed)
    cluster.live(steps)
    world = watch(cluster)
    world.pass_time(30)
    world.close()
    assert world.found == []


@examples(100)
@given(SEEDS, st.integers(1, 60))
def test_one_pod_too_many_is_found_in_any_history(seed: int, steps: int) -> None:
    cluster = Cluster(seed)
    cluster.live(steps)
    cluster.now += 2 * GRACE
    cluster.change("culprit", pod("culprit", "n2", cpu=str(cluster.cpu["n2"] + 1)))
    world = watch(cluster)
    world.close()
    assert [(found.rule, found.pod) for found in world.found] == [("overcommit", "culprit")]


names = st.sampled_from([f"p{i}" for i in range(6)])
versions = st.builds(
    lambda name, where, cpu, phase: pod_of(pod(name, where, cpu=str(cpu), status={"phase": phase}), pytest.fail),
    names,
    st.sampled_from(["", "n1", "n2"]),
    st.integers(0, 5),
    st.sampled_from(["Pending", "Running", "Failed"]),
)


@given(st.lists(st.one_of(versions, names)))
def test_the_sums_of_a_node_equal_a_recount(history: list[Pod | str]) -> None:
    occupancy, present = Occupancy(), dict[str, Pod]()
    for event in history:
        name = event if isinstance(event, str) else event.name
        old, new = present.pop(name, None), None if isinstance(event, str) else event
        occupancy.place(old, new)
        if new:
            present[name] = new
    for where in ("n1", "n2"):
        here = [p for p in present.values() if p.node == where and not p.finished]
        held = occupancy.held(where)
        assert sorted(held.pods) == sorted(p.uid for p in here)
        assert +held.total == sum((Counter(dict(p.demand)) for p in here), Counter[str]())


def test_a_version_of_a_node_that_no_rule_can_tell_apart_is_no_news() -> None:
    one, other = (node_of(node(meta={"resourceVersion": version}), pytest.fail) for version in "12")
    assert one == other
