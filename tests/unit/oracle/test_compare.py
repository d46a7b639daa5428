"""Which differences count, and which the real scheduler leaves to chance."""

from dataclasses import replace

import pytest

from oracle.compare import differences, subjects_of
from oracle.decision import Decision

BOUND = Decision(
    "default/p",
    node="a",
    feasible=frozenset("abc"),
    scores={"ImageLocality": {"a": 5, "b": 5, "c": 1}},
    totals={"a": 5, "b": 5, "c": 1},
)
WAITING = Decision(
    "default/p",
    reason="Unschedulable",
    message="0/2 nodes are available: 2 Insufficient cpu.",
    rejectors=frozenset({"NodeResourcesFit"}),
)
PLACED = "preemption: found a potential placement for pod on node {node}, preempting {count} victims"
EVICTING = replace(WAITING, message=PLACED.format(node="a", count=1), nominated="a", victims=frozenset({"default/r1"}))


@pytest.mark.parametrize(
    ("real", "ours"),
    [
        pytest.param(BOUND, BOUND, id="the same decision"),
        pytest.param(BOUND, replace(BOUND, node="b"), id="another node with the best total"),
        pytest.param(WAITING, WAITING, id="the same words"),
        pytest.param(
            EVICTING,
            replace(
                EVICTING,
                message=PLACED.format(node="b", count=2),
                nominated="b",
                victims=frozenset({"default/r2", "default/r3"}),
                equally_good={"a": frozenset({"default/r1"}), "b": frozenset({"default/r2", "default/r3"})},
            ),
            id="an eviction that is equally good",
        ),
    ],
)
def test_as_good_as_the_real_one(real: Decision, ours: Decision) -> None:
    assert differences(real, ours) == []


@pytest.mark.parametrize(
    ("real", "ours", "subject"),
    [
        pytest.param(BOUND, replace(BOUND, node="c"), "node", id="a worse node"),
        pytest.param(BOUND, replace(BOUND, node=None), "node", id="no node"),
        pytest.param(BOUND, replace(BOUND, feasible=frozenset("ab")), "feasible", id="a node missed"),
        pytest.param(WAITING, replace(WAITING, feasible=frozenset("a")), "feasible", id="a node too many"),
        pytest.param(
            BOUND,
            replace(BOUND, scores={"ImageLocality": {"a": 5, "b": 5, "c": 2}}),
            "score",
            id="a score off by one",
        ),
        pytest.param(BOUND, replace(BOUND, scores={}), "score", id="a plugin that does not score"),
        pytest.param(BOUND, replace(BOUND, totals={**BOUND.totals, "c": 2}), "total", id="a total off by one"),
        pytest.param(WAITING, replace(WAITING, message="other"), "message", id="other words"),
        pytest.param(WAITING, replace(WAITING, reason="SchedulerError"), "reason", id="another reason"),
        pytest.param(WAITING, replace(WAITING, rejectors=frozenset()), "rejectors", id="other rejectors"),
        pytest.param(EVICTING, replace(EVICTING, victims=frozenset()), "victims", id="other victims"),
        pytest.param(EVICTING, replace(EVICTING, nominated="b"), "nominated", id="another node to make room on"),
    ],
)
def test_not_as_good(real: Decision, ours: Decision, subject: str) -> None:
    assert subject in subjects_of(differences(real, ours))


def test_a_decision_survives_being_written_down() -> None:
    assert Decision.from_json(EVICTING.to_json()) == EVICTING
    assert Decision.from_json(BOUND.to_json()) == BOUND
