"""Pods on their way out: from when on they count as leaving, and until when."""

from collections.abc import Callable

import pytest

from pilotage.framework.preemption.departures import Departures
from pilotage.model.pod import Pod
from pilotage.testing import make_pod

LEAVING = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
EVICTED = {"conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]}
PREEMPTOR, OTHER = make_pod("preemptor", uid="preemptor"), make_pod("other", uid="other")
VICTIM = make_pod("victim", uid="victim", node="n1")
SEEN = make_pod("victim", uid="victim", node="n1", metadata=LEAVING, status=EVICTED)
DELETED = make_pod("victim", uid="victim", node="n1", metadata=LEAVING)


def change(departures: Departures, old: Pod, new: Pod) -> None:
    """Let a pod change as the cache tells it."""
    departures.left(old)
    departures.placed(new)


def told(departures: Departures) -> None:
    departures.tell(PREEMPTOR, [VICTIM])


def told_and_seen(departures: Departures) -> None:
    told(departures)
    change(departures, VICTIM, SEEN)


def gone(departures: Departures) -> None:
    told_and_seen(departures)
    departures.left(SEEN)


def called_off(departures: Departures) -> None:
    departures.tell(OTHER, [VICTIM])
    told(departures)
    departures.call_off([VICTIM])


@pytest.mark.parametrize(
    ("happens", "leaves", "is_awaited"),
    [
        pytest.param(lambda _: None, False, False, id="nothing"),
        pytest.param(told, True, True, id="one that was told to go, before the API server shows it"),
        pytest.param(told_and_seen, True, True, id="and when it does"),
        pytest.param(gone, False, False, id="not when it is gone"),
        pytest.param(called_off, False, False, id="not if it was not evicted after all"),
        pytest.param(lambda found: change(found, VICTIM, SEEN), True, False, id="one that another scheduler evicts"),
        pytest.param(lambda found: change(found, VICTIM, DELETED), False, False, id="not one that its owner deletes"),
    ],
)
def test_who_leaves(happens: Callable[[Departures], None], leaves: bool, is_awaited: bool) -> None:
    departures = Departures()
    departures.placed(VICTIM)
    happens(departures)
    assert [pod.uid for pod in departures.all()] == ["victim"] * leaves
    assert [pod.uid for pod in departures.made_for(PREEMPTOR)] == ["victim"] * is_awaited
    assert departures.made_for(OTHER) == []


def test_one_that_leaves_for_two() -> None:
    departures = Departures()
    for preemptor in (PREEMPTOR, OTHER):
        departures.tell(preemptor, [VICTIM])
    assert departures.made_for(PREEMPTOR) == departures.made_for(OTHER) == departures.all() == [VICTIM]


def test_one_that_is_taken_away_only_in_a_what_if_still_leaves() -> None:
    departures = Departures()
    told(departures)
    departures.left(VICTIM)
    assert departures.all() == []
    departures.placed(SEEN)
    assert departures.all() == [SEEN]


def test_nothing_is_kept_of_those_that_are_gone() -> None:
    departures = Departures()
    gone(departures)
    departures.tell(OTHER, [])
    assert departures._told == {}
