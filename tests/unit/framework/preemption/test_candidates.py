"""Which of several nodes is freed, and when the search for more ends."""

import pytest

from pilotage.framework.api.verdicts import Rejection
from pilotage.framework.runtime.preemption.candidates import Candidates, least_harmful
from pilotage.framework.runtime.preemption.victims import Victims
from pilotage.testing import make_pod

NOW = 2_000_000_000.0
T1, T2, T3 = "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z", "2026-01-02T00:00:00Z"
LATER_THAN_NOW = "2099-01-01T00:00:00Z"


def victims(node: str, *pods: int | tuple[int, str | None], violations: int = 0) -> Victims:
    pairs = [(pod, T1) if isinstance(pod, int) else pod for pod in pods]
    made = (make_pod(priority=priority, status={"startTime": start} if start else None) for priority, start in pairs)
    return Victims(node, tuple(made), violations)


@pytest.mark.parametrize(
    ("candidates", "best"),
    [
        pytest.param([victims("a", 5)], "a", id="one candidate is taken"),
        pytest.param([victims("a", 1, violations=1), victims("b", 100)], "b", id="1. fewest violations"),
        pytest.param([victims("a", 10), victims("b", 9, 9, 9)], "b", id="2. lowest highest priority"),
        pytest.param([victims("a", 10, 5), victims("b", 10, 4)], "b", id="3. smallest sum"),
        pytest.param([victims("a", -5, -5), victims("b", -5)], "b", id="3. negative priorities do not favour many"),
        pytest.param(
            [victims("a", 10, 0, -(1 << 31)), victims("b", 10, 0)], "b", id="4. fewest victims for the same sum"
        ),
        pytest.param([victims("a", (5, T1)), victims("b", (5, T2))], "b", id="5. the latest start"),
        pytest.param(
            [victims("a", (5, T2), (5, T3), (1, T1)), victims("b", (5, T1), (5, T3), (1, T3))],
            "a",
            id="5. the earliest of the highest alone counts",
        ),
        pytest.param([victims("a", (5, T3)), victims("b", (5, None))], "b", id="5. without a start it is now"),
        pytest.param([victims("a", (5, None)), victims("b", (5, LATER_THAN_NOW))], "b", id="5. which can be early"),
        pytest.param([victims("a", 5), victims("b", 5)], "a", id="6. the first"),
        pytest.param(
            [victims("a", 100, 0), victims("b", 100, -50, -50), victims("c", 90, violations=1)],
            "a",
            id="no budget is broken, and negative priorities make more pods no cheaper",
        ),
        pytest.param(
            [victims(f"node{n}", (0, start), (0, start)) for n, start in enumerate([T2, T3, T1], 1)],
            "node2",
            id="of equals the one whose pods started last",
        ),
        pytest.param(
            [victims("a", (5, "2026-01-01T01:00:00+02:00")), victims("b", (5, "2025-12-31T23:30:00Z"))],
            "b",
            id="times in different zones",
        ),
    ],
)
def test_least_harmful(candidates: list[Victims], best: str) -> None:
    assert least_harmful(candidates, NOW).node == best


def test_the_search_goes_on_until_one_violates_no_budget() -> None:
    candidates = Candidates(wanted=2)
    for place, node in enumerate(("a", "b", "c")):
        assert not candidates.add(place, victims(node, 1, violations=1))
    assert candidates.add(3, victims("d", 1))
    assert [each.node for each in candidates.found] == ["d", "a", "b"]  # c was one too many


def test_reasons_are_counted() -> None:
    candidates = Candidates(wanted=1)
    for place, rejection in enumerate((Rejection("x", "y"), Rejection("y"), Rejection("y"), Rejection())):
        assert not candidates.add(place, rejection)
    assert (candidates.reasons, len(candidates.rejections), candidates.found) == ({"x": 1, "y": 3}, 4, [])
