import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.framework.api.plugin import QueuedPod as Sortable
from pilotage.framework.api.plugin import QueueSort
from pilotage.queue.active import active_queue, by_priority, order_of
from pilotage.queue.pod_heap import PodHeap
from pilotage.queue.queued_pod import QueuedPod
from pilotage.testing import make_pod


class ByLess(QueueSort):
    """Sort as PrioritySort does, the slow way."""

    def less(self, one: Sortable, other: Sortable) -> bool:
        if one.pod.priority != other.pod.priority:
            return one.pod.priority > other.pod.priority
        return one.timestamp < other.timestamp


class ByKey(ByLess):
    """Sort as PrioritySort does, the fast way."""

    def sort_key(self, queued: Sortable) -> tuple[int, float]:
        return -queued.pod.priority, queued.timestamp


class Moody(QueueSort):
    """Sort until a pod comes along that it cannot stand."""

    def less(self, one: Sortable, other: Sortable) -> bool:
        if "bad" in (one.pod.name, other.pod.name):
            raise ValueError("no")
        return one.timestamp > other.timestamp


def queued_pod(name: str, priority: int = 0, timestamp: float = 0) -> QueuedPod:
    return QueuedPod(make_pod(name, priority=priority), timestamp)


def drained(heap: PodHeap) -> list[str]:
    found = []
    while (queued := heap.first()) is not None:
        heap.remove(queued)
        found.append(queued.pod.name)
    return found


@pytest.mark.parametrize("sort", [ByLess(), ByKey(), by_priority], ids=["less", "sort_key", "a function"])
def test_order(sort: Any) -> None:
    heap = active_queue(order_of(sort))
    for queued in (
        queued_pod("late", 1, 2.0),
        queued_pod("urgent", 9, 3.0),
        queued_pod("early", 1, 1.0),
        queued_pod("early too", 1, 1.0),
        queued_pod("never mind", -1, 0.0),
    ):
        heap.add(queued)
    assert len(heap) == 5
    assert drained(heap) == ["urgent", "early", "early too", "late", "never mind"]
    assert len(heap) == 0


def test_the_fast_way_is_used() -> None:
    assert order_of(ByKey())(queued_pod("a", 3, 4.0)) == (-3, 4.0)


@given(st.lists(st.tuples(st.integers(-2, 2), st.integers(0, 3)), max_size=30))
def test_the_fast_way_and_the_slow_way_agree(pods: list[tuple[int, int]]) -> None:
    orders = []
    for sort in (ByLess(), ByKey()):
        heap = active_queue(order_of(sort))
        for number, (priority, timestamp) in enumerate(pods):
            heap.add(queued_pod(str(number), priority, timestamp))
        orders.append(drained(heap))
    assert orders[0] == orders[1]


def test_a_pod_can_leave_from_the_middle_and_change_its_place() -> None:
    heap = active_queue(by_priority)
    first, second, third = (queued_pod(name, timestamp=time) for name, time in (("a", 1), ("b", 2), ("c", 3)))
    for queued in (first, second, third):
        heap.add(queued)
    heap.remove(second)
    third.pod = make_pod("c", priority=9)
    heap.add(third)
    assert {queued.pod.name for queued in heap} == {"a", "c"}
    assert drained(heap) == ["c", "a"]


def test_pods_that_left_do_not_pile_up() -> None:
    heap = active_queue(by_priority)
    keeper = queued_pod("keeper", timestamp=1e9)
    for number in range(1000):
        heap.add(keeper)
        passing = queued_pod(str(number), timestamp=random.random())
        heap.add(passing)
        heap.remove(passing)
    assert len(heap._heap) < 100
    assert drained(heap) == ["keeper"]


@pytest.mark.parametrize("worst", [0, 1, 5])
def test_an_order_that_fails_is_replaced(worst: int, caplog: pytest.LogCaptureFixture) -> None:
    heap = active_queue(order_of(Moody()))
    for number in range(6):
        heap.add(queued_pod("bad" if number == worst else str(number), timestamp=number))
    assert drained(heap) == ["bad" if number == worst else str(number) for number in range(6)]
    assert caplog.text.count("the order of the active queue failed") == 1


def test_an_order_that_fails_when_a_pod_leaves_is_replaced() -> None:
    mood = {"bad": False}

    class Later(QueueSort):
        """Fail when the pods are there already."""

        def less(self, one: Sortable, other: Sortable) -> bool:
            if mood["bad"]:
                raise ValueError("no")
            return one.timestamp > other.timestamp

    heap = active_queue(order_of(Later()))
    for number in range(9):
        heap.add(queued_pod(str(number), timestamp=number))
    mood["bad"] = True
    assert drained(heap) == ["8", "0", "1", "2", "3", "4", "5", "6", "7"]


def test_keys_that_cannot_be_compared_lose_nobody() -> None:
    heap = active_queue(lambda queued: queued.pod.name if queued.pod.name == "odd" else 1)
    for name in ("a", "odd", "b"):
        heap.add(queued_pod(name))
    assert sorted(drained(heap)) == ["a", "b", "odd"]
