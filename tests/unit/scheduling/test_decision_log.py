"""The ring of decisions, and the attempts of pending pods."""

from types import SimpleNamespace
from typing import Any

import pytest

from pilotage.framework.api.verdicts import Rejection
from pilotage.queue.queued_pod import QueuedPod
from pilotage.scheduling.decision_log import MOST_ATTEMPTS, DecisionLog, Expired, said_by
from pilotage.scheduling.outcome import SCHEDULER_ERROR, Outcome, Placed, Unplaced
from pilotage.testing import make_pod

FULL = Unplaced("0/3 nodes are available: 3 Insufficient cpu.", counted=[(Rejection("Insufficient cpu"), 3)])


def queued(name: str, attempts: int = 1) -> QueuedPod:
    found = QueuedPod(make_pod(name), 0.0)
    found.attempts = attempts
    return found


def placed(name: str, node: str = "n1") -> Placed:
    cycle: Any = SimpleNamespace(node_count=3)
    engine: Any = None
    return Placed(make_pod(name, node=node), 2, cycle, engine, 2)


def put(log: DecisionLog, name: str, outcome: Outcome) -> QueuedPod:
    pod = queued(name)
    log.decided(pod, outcome, 1.0, 1.5)
    return pod


@pytest.mark.parametrize(
    ("outcome", "word", "node"),
    [
        pytest.param(placed("p"), "placed", "n1", id="placed"),
        pytest.param(FULL, "waits", "", id="not placed"),
        pytest.param(Unplaced("", nominate="n2", victims=("a/b",)), "nominated", "n2", id="preemption"),
        pytest.param(Unplaced("x", nominate=None), "waits", "", id="an earlier nomination stays"),
        pytest.param(Unplaced("boom", SCHEDULER_ERROR), "error", "", id="an error"),
    ],
)
def test_outcomes(outcome: Outcome, word: str, node: str) -> None:
    log = DecisionLog()
    put(log, "p", outcome)
    ((number, decision),) = log.newest_first()
    assert (number, decision.outcome, decision.node, decision.key) == (0, word, node, "default/p")


def test_the_note_replaces_the_message() -> None:
    log = DecisionLog()
    pod = put(log, "p", Unplaced("for the condition", note="for the event"))
    made = log.newest(pod.pod.uid)
    assert made is not None
    assert said_by(made) == ("Unschedulable", "for the event", ())


def test_the_ring_drops_the_oldest() -> None:
    log = DecisionLog(most=3)
    for number in range(5):
        put(log, f"p{number}", placed("p"))
    assert [(number, each.key) for number, each in log.newest_first()] == [
        (4, "default/p4"),
        (3, "default/p3"),
        (2, "default/p2"),
    ]
    assert [number for number, _ in log.newest_first(before=4)] == [3, 2]
    assert [number for number, _ in log.since(3)] == [3, 4]
    assert list(log.newest_first(before=2)) == log.since(5) == []
    for gone in (lambda: log.since(1), lambda: log.newest_first(before=1)):
        with pytest.raises(Expired):
            gone()


def test_decisions_are_added_while_others_are_read() -> None:
    log = DecisionLog()
    put(log, "a", FULL)
    reading = log.newest_first()
    put(log, "b", FULL)
    assert [each.key for _, each in reading] == ["default/a"]


def test_a_pending_pod_keeps_its_last_attempts() -> None:
    log = DecisionLog()
    pod = queued("p")
    for number in range(MOST_ATTEMPTS + 5):
        pod.attempts = number
        log.decided(pod, FULL, 0.0, float(number))
    found = [each.attempt for each in log.attempts(pod.pod.uid)]
    assert found == list(range(MOST_ATTEMPTS + 4, 4, -1))
    assert log.kept == MOST_ATTEMPTS


def test_attempts_are_dropped_when_the_pod_is_bound() -> None:
    log = DecisionLog()
    pod = put(log, "p", FULL)
    log.decided(pod, placed("p"), 0.0, 1.0)
    assert len(log.attempts(pod.pod.uid)) == 1
    log._bound(pod, placed("p"), 0.0)
    assert (log.attempts(pod.pod.uid), log.kept, log.bound["default-scheduler"]) == ([], 0, 1)


def test_the_number_of_attempts_is_bounded() -> None:
    log, pods = DecisionLog(most_kept=100), [queued(f"p{number}") for number in range(20)]
    for turn in range(30):
        for pod in pods:
            log.decided(pod, FULL, 0.0, float(turn))
        assert log.kept <= 100
        assert log.kept == sum(len(log.attempts(pod.pod.uid)) for pod in pods)
    assert all(log.last(pod.pod.uid) is not None for pod in pods)


def test_the_oldest_attempts_are_dropped_first() -> None:
    log = DecisionLog(most_kept=10)
    pods = [queued(f"p{number}") for number in range(50)]
    for moment, pod in enumerate(pods):
        log.decided(pod, FULL, 0.0, float(moment))
    assert log.kept == 10
    assert [log.last(pod.pod.uid) is not None for pod in pods] == [False] * 40 + [True] * 10


def test_the_last_attempt_of_a_pod_is_dropped_last() -> None:
    log = DecisionLog(most_kept=9)
    busy, others = queued("busy"), [queued(f"p{number}") for number in range(8)]
    for moment in range(9):
        log.decided(busy, FULL, 0.0, float(moment))
    for pod in others:
        log.decided(pod, FULL, 0.0, 10.0)
        assert log.kept <= 9
    assert all(log.last(pod.pod.uid) is not None for pod in (busy, *others))
    assert [each.ended for each in log.attempts(busy.pod.uid)] == [8.0]


def test_attempts_of_other_pods_are_dropped() -> None:
    log = DecisionLog()
    gone, waits = put(log, "gone", FULL), put(log, "waits", FULL)
    for _ in log.forget_all_but(lambda key: key == "default/waits"):
        pass
    assert (log.pods, log.kept) == (1, 1)
    assert log.attempts(gone.pod.uid) == []
    assert len(log.attempts(waits.pod.uid)) == 1
