"""The tally always equals a count of all pending pods."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.tiers import examples
from pilotage.framework.api.verdicts import Rejection
from pilotage.queue.scheduling_queue import SchedulingQueue
from pilotage.scheduling.decision_log import DecisionLog
from pilotage.scheduling.outcome import Unplaced
from pilotage.testing import make_pod
from pilotage.views import tally as module
from pilotage.views.reasons import plugins_of, why
from pilotage.views.state import finish
from pilotage.views.tally import Cell, Kind, Tally

REASONS = ["Insufficient cpu", "node(s) had untolerated taint(s)"]


class World:
    """A queue, a log, and a tally of them."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.queue = SchedulingQueue(lambda queued: queued.timestamp, lambda _: (), {}, lambda: self.now)
        self.log = DecisionLog()
        self.tally = Tally(self.queue, self.log)

    def add(self, number: int, owner: int = 0) -> None:
        self.now += 1.0
        reference = {"apiVersion": "v1", "kind": "Job", "name": f"j{owner}", "uid": "u", "controller": True}
        metadata = {"ownerReferences": [reference]} if owner else {}
        self.queue.add(make_pod(f"p{number}", namespace=f"ns{number % 3}", cpu=1 + number % 2, metadata=metadata))

    def reject_next(self, reason: int) -> None:
        self.now += 1.0
        queued = self.queue.pop()
        if queued is not None:
            rejection = Rejection(REASONS[reason], plugin="NodeResourcesFit")
            self.log.decided(queued, Unplaced(f"0/1: {REASONS[reason]}", counted=[(rejection, 1)]), 0.0, 1.0)
            self.queue.add_unschedulable(queued, ["NodeResourcesFit"])

    def bind_next(self) -> None:
        queued = self.queue.pop()
        if queued is not None:
            self.queue.done(queued.pod.uid)

    def delete(self, number: int) -> None:
        queued = self.queue.find(f"ns{number % 3}/p{number}")
        if queued is not None:
            self.queue.delete(queued.pod)

    def activate(self, number: int) -> None:
        queued = self.queue.find(f"ns{number % 3}/p{number}")
        if queued is not None:
            self.queue.activate([queued.pod])

    def resize(self, number: int) -> None:
        queued = self.queue.find(f"ns{number % 3}/p{number}")
        if queued is not None:
            same = {"uid": queued.pod.uid}
            self.queue.update(queued.pod, make_pod(f"p{number}", namespace=f"ns{number % 3}", cpu=7, metadata=same))

    def forget(self) -> None:
        self.tally._asked_at = -2 * module.KEPT_FOR
        self.tally.tend()

    def compare(self) -> None:
        finish(self.tally.settle())
        assert self.counted() == self.expected()
        for cell in self.tally.cells.values():
            assert cell.members[finish(cell.oldest())] == min(cell.members.values())
            for key, since in cell.members.items():
                queued = self.queue.find(key)
                assert queued is not None
                assert queued.since == since

    def counted(self) -> Counter[tuple[Any, ...]]:
        """Return the tally as numbers by what can be grouped."""
        found: Counter[tuple[Any, ...]] = Counter()
        for kind, cell in self.tally.cells.items():
            assert cell.members
            found[*kind.own, kind.place, kind.plugins, kind.text, kind.code] += len(cell.members)
        return found

    def expected(self) -> Counter[tuple[Any, ...]]:
        """Return the same, counted pod by pod."""
        found: Counter[tuple[Any, ...]] = Counter()
        for queued in self.queue:
            reason, pod, owner = (
                why(queued, self.log.newest(queued.pod.uid)),
                queued.pod,
                queued.pod.metadata.controller,
            )
            own = pod.namespace, pod.scheduler_name, "" if owner is None else f"Job/{owner.name}", ""
            assert queued.place is not None
            said = ("", "") if reason is None else (reason.text, reason.code)
            found[*own, f"cpu={pod.requests['cpu']}", queued.place.name, tuple(sorted(plugins_of(queued))), *said] += 1
        return found


NUMBERS = st.integers(0, 3)
STEPS = st.lists(
    st.tuples(
        st.one_of(
            st.tuples(st.just("add"), NUMBERS, st.integers(0, 2)),
            st.tuples(st.just("reject_next"), st.integers(0, 1)),
            st.tuples(st.just("bind_next")),
            st.tuples(st.sampled_from(["delete", "activate", "resize"]), NUMBERS),
            st.tuples(st.just("forget")),
        ),
        st.booleans(),  # whether somebody asks then
    ),
    max_size=30,
)


@given(STEPS)
@examples(1000)
def test_it_equals_a_count_of_all_pods(steps: list[tuple[tuple[Any, ...], bool]]) -> None:
    world = World()
    for (name, *arguments), asks in steps:
        getattr(world, name)(*arguments)
        if asks:
            world.compare()
    world.compare()


def test_a_pod_that_changes_in_its_place_is_counted_again() -> None:
    world = World()
    world.add(0)
    world.compare()
    world.resize(0)
    world.compare()


def test_pods_that_come_and_leave_between_two_counts_leave_no_trace() -> None:
    world = World()
    world.add(0)
    world.compare()
    world.add(1)
    world.delete(1)
    assert world.queue.changed is not None
    assert world.queue.changed.keys == {}
    world.delete(0)
    assert set(world.queue.changed.keys) == {"ns0/p0"}


def test_only_changed_pods_are_counted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    world, looked = World(), list[str]()
    for number in range(20):
        world.add(number)
    finish(world.tally.settle())
    look = world.tally._look

    def noted(key: str) -> None:
        looked.append(key)
        look(key)

    monkeypatch.setattr(world.tally, "_look", noted)
    world.reject_next(0)
    world.add(20)
    finish(world.tally.settle())
    assert sorted(looked) == ["ns0/p0", "ns2/p20"]


def test_concurrent_answers_see_all_pods() -> None:
    world = World()
    for number in range(3 * module.LOOKS):
        world.add(number)
    first, second = world.tally.settle(), world.tally.settle()
    next(first)
    finish(second)
    assert world.counted() == world.expected()
    finish(first)
    assert world.counted() == world.expected()


def test_what_is_freed_during_an_answer_is_counted_again() -> None:
    world = World()
    for number in range(3 * module.LOOKS):
        world.add(number)
    steps = world.tally.settle()
    next(steps)
    world.forget()
    finish(steps)
    assert world.counted() == world.expected()


def test_an_unused_tally_is_freed_in_small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FREED_AT_ONCE", 2)
    world = World()
    for number in range(5):
        world.add(number)
    finish(world.tally.settle())
    world.tally.tend()
    assert world.tally.cells
    monkeypatch.setattr(module, "MOST_CHANGES", 0)
    world.add(5)
    world.tally.tend()
    assert (world.queue.changed, world.tally.cells) == (None, {})
    for _ in range(10):
        world.tally.tend()
    assert world.tally._past == []


def test_changed_pods_are_news_for_streams() -> None:
    world = World()
    world.tally.news = {}
    for number in (0, 1):
        world.add(number)
    finish(world.tally.settle())
    assert set(world.tally.news) == {"ns0/p0", "ns1/p1"}
    world.tally.news = {}
    world.add(2)
    world.delete(2)
    world.delete(0)
    finish(world.tally.settle())
    assert set(world.tally.news) == {"ns0/p0"}


def test_the_oldest_pod_of_a_cell_is_found() -> None:
    cell = Cell(Kind(None, "active", (), "", "", "wait"))  # type: ignore[arg-type]
    for key, since in (("a", 2.0), ("b", 1.0), ("c", 3.0)):
        cell.put(key, since)
    assert finish(cell.oldest()) == "b"
    cell.drop("b")
    assert finish(cell.oldest()) == "a"
    cell.put("a", 9.0)
    assert finish(cell.oldest()) == "c"
