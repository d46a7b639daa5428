from collections.abc import Callable
from typing import Any

import pytest

from pilotage.queue.active import by_priority
from pilotage.queue.backoff import Backoff, BackoffQueue
from pilotage.queue.queued_pod import QueuedPod
from pilotage.testing import make_pod


def queued_pod(timestamp: float = 1000.0, *, rejections: int = 0, errors: int = 0, **fields: Any) -> QueuedPod:
    queued = QueuedPod(make_pod(**fields), timestamp)
    queued.unschedulable_count, queued.consecutive_errors = rejections, errors
    queued.unschedulable_plugins = set() if errors or not rejections else {"Fit"}
    return queued


def backoff_at(now: float, initial: float = 1, longest: float = 10) -> Backoff:
    return Backoff(lambda: now, initial, longest)


@pytest.mark.parametrize(
    ("initial", "longest", "expected"),
    [
        pytest.param(1, 10, [0, 1, 2, 4, 8, 10, 10], id="the defaults"),
        pytest.param(1, 8, [0, 1, 2, 4, 8, 8], id="a limit that is reached exactly"),
        pytest.param(3, 10, [0, 3, 6, 10, 10], id="a limit between two doublings"),
        pytest.param(10, 10, [0, 10, 10], id="the limit from the start"),
        pytest.param(0.5, 2, [0, 0.5, 1, 2, 2], id="half a second"),
    ],
)
def test_durations(initial: float, longest: float, expected: list[float]) -> None:
    backoff = backoff_at(0, initial, longest)
    assert [backoff.duration(count) for count in range(len(expected))] == expected
    assert backoff.duration(1000) == longest


@pytest.mark.parametrize(
    ("timestamp", "counts", "now", "expected"),
    [
        pytest.param(1000.0, {}, 1000.0, False, id="never tried: no back-off"),
        pytest.param(1000.0, {"rejections": 1}, 1000.0, True, id="just tried"),
        pytest.param(1000.0, {"rejections": 1}, 1001.0, True, id="the last second itself still counts"),
        pytest.param(1000.0, {"rejections": 1}, 1001.999, True, id="up to its end"),
        pytest.param(1000.0, {"rejections": 1}, 1002.0, False, id="and not longer"),
        pytest.param(1000.999, {"rejections": 1}, 1001.999, True, id="one second is at least one"),
        pytest.param(1000.999, {"rejections": 1}, 1002.0, False, id="and ends with a whole one"),
        pytest.param(1000.0, {"rejections": 3}, 1004.9, True, id="the third time takes four"),
        pytest.param(1000.0, {"rejections": 3}, 1005.0, False, id="and then is over"),
        pytest.param(1000.0, {"rejections": 9}, 1010.9, True, id="never more than ten"),
        pytest.param(1000.0, {"rejections": 9}, 1011.0, False, id="and then is over, too"),
        pytest.param(1000.0, {"rejections": 4, "errors": 1}, 1002.0, False, id="errors count instead"),
        pytest.param(1000.0, {"rejections": 1, "errors": 3}, 1004.9, True, id="also if there are more"),
    ],
)
def test_whether_a_pod_must_wait(timestamp: float, counts: dict[str, int], now: float, expected: bool) -> None:
    assert backoff_at(now).holds(queued_pod(timestamp, **counts)) is expected


def test_without_a_limit_there_is_no_back_off() -> None:
    assert not backoff_at(1000, longest=0).holds(queued_pod(1000, rejections=3))


def test_the_end_is_computed_once() -> None:
    backoff, queued = backoff_at(1000), queued_pod(1000.7, rejections=1)
    assert backoff.expiration(queued) == 1001
    queued.unschedulable_count = 4
    assert backoff.expiration(queued) == 1001


def names(queue: BackoffQueue, take: Callable[[], QueuedPod | None]) -> list[str]:
    found = []
    while (queued := take()) is not None:
        queue.remove(queued)
        found.append(queued.pod.name)
    return found


def test_who_is_taken_early() -> None:
    queue = BackoffQueue(backoff_at(1000), by_priority)
    queue.add(queued_pod(1000.1, name="late", rejections=3))
    queue.add(queued_pod(1000.9, name="low", rejections=1))
    queue.add(queued_pod(1000.8, name="older", rejections=1))
    queue.add(queued_pod(1000.9, name="high", rejections=1, priority=5))
    queue.add(queued_pod(1000.0, name="error", errors=1))
    assert len(queue) == 5
    # The first to end; in the same second the order of the active queue; who met an error not at all.
    assert names(queue, queue.first_rejected) == ["high", "older", "low", "late"]
    assert [queued.pod.name for queued in queue] == ["error"]


def test_who_is_completed() -> None:
    clock = iter([1003.0] * 20)
    queue = BackoffQueue(Backoff(lambda: next(clock), 1, 10), by_priority)
    queue.add(queued_pod(1000.1, name="later", rejections=3))
    queue.add(queued_pod(1000.9, name="rejected", rejections=1))
    queue.add(queued_pod(1000.5, name="error", errors=1))
    queue.add(queued_pod(1000.5, name="errors", errors=3))
    assert queue.next_completion() == 1002
    assert names(queue, queue.first_completed) == ["rejected", "error"]
    assert queue.next_completion() == 1005
    assert names(queue, queue.first_rejected) == ["later"]
    assert queue.next_completion() == 1005


def test_an_empty_queue_has_nothing_to_wait_for() -> None:
    queue = BackoffQueue(backoff_at(1000), by_priority)
    assert queue.next_completion() is None
    assert queue.first_completed() is None


@pytest.mark.parametrize(
    ("rest", "longest", "now", "expected"),
    [
        pytest.param(30.0, 10, 1030.9, True, id="longer than any back-off"),
        pytest.param(30.0, 10, 1031.0, False, id="and not longer than that"),
        pytest.param(1.0, 10, 1002.9, True, id="the back-off, where that is longer"),
        pytest.param(30.0, 0, 1030.0, True, id="also where there is no back-off at all"),
    ],
)
def test_a_pod_that_rests_waits_at_least_that_long(rest: float, longest: float, now: float, expected: bool) -> None:
    queued = queued_pod(1000.0, errors=2)
    queued.rest = rest
    assert backoff_at(now, longest=longest).holds(queued) is expected


def test_who_rests_is_not_taken_early() -> None:
    queue, queued = BackoffQueue(backoff_at(1000), by_priority), queued_pod(1000.0, rejections=1)
    queued.rest = 30.0
    queue.add(queued)
    assert queue.first_rejected() is None
    assert queue.next_completion() == 1031
