"""Thousands of profiles in which nobody waits cost an event nothing."""

from collections.abc import Iterator
from typing import Any

from pilotage.framework.api.events import POD_GONE, Action, Resource, Retry
from pilotage.queue.scheduling_queue import SchedulingQueue
from pilotage.queue.unschedulable import Pool
from pilotage.testing import make_pod


class Waits:
    """A plugin whose pods wait for others to go."""

    name = "Waits"
    retry = Retry(Resource.ASSIGNED_POD, Action.DELETE)


def looked_up(queue: SchedulingQueue, monkeypatch: Any) -> Iterator[str]:
    asked: list[str] = []
    waiting_for = Pool.waiting_for

    def noted(self: Pool, rejector: tuple[str, str]) -> Any:
        asked.append(rejector[0])
        return waiting_for(self, rejector)

    monkeypatch.setattr(Pool, "waiting_for", noted)
    queue.move_all(POD_GONE, make_pod("gone", node="n1"), None)
    yield from asked


def test_only_profiles_with_waiting_pods_are_looked_up(monkeypatch: Any) -> None:
    plugin = Waits()
    retries = {f"s{number}": [(plugin, Waits.retry)] for number in range(2_000)}
    queue = SchedulingQueue(lambda queued: queued.timestamp, lambda _: (), retries, lambda: 0.0)
    for name, scheduler in (("b", "s7"), ("a", "s3")):
        queue.add(make_pod(name, scheduler=scheduler))
    for queued in [queue.pop(), queue.pop()]:
        assert queued is not None
        queue.add_unschedulable(queued, ["Waits"])
    assert set(looked_up(queue, monkeypatch)) == {"s3", "s7"}
    assert queue.pending().unschedulable == 0
