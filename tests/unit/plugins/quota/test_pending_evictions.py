"""Pods on their way out: from when on they count as leaving, and until when."""

from collections.abc import Callable

import pytest

from pilotage.model.pod import Pod
from pilotage.plugins.quota.capacity_scheduling.pending_evictions import PendingEvictions
from pilotage.testing import make_pod

LEAVING = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
EVICTED = {"conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]}
PREEMPTOR, OTHER = make_pod("preemptor", uid="preemptor"), make_pod("other", uid="other")
VICTIM = make_pod("victim", uid="victim", node="n1")
SEEN = make_pod("victim", uid="victim", node="n1", metadata=LEAVING, status=EVICTED)
DELETED = make_pod("victim", uid="victim", node="n1", metadata=LEAVING)


def change(pending_evictions: PendingEvictions, old: Pod, new: Pod) -> None:
    """Let a pod change as the cache tells it."""
    pending_evictions.left(old)
    pending_evictions.placed(new)


def told(pending_evictions: PendingEvictions) -> None:
    pending_evictions.tell(PREEMPTOR, [VICTIM])


def told_and_seen(pending_evictions: PendingEvictions) -> None:
    told(pending_evictions)
    change(pending_evictions, VICTIM, SEEN)


def gone(pending_evictions: PendingEvictions) -> None:
    told_and_seen(pending_evictions)
    pending_evictions.left(SEEN)


def evictions_cancelled(pending_evictions: PendingEvictions) -> None:
    pending_evictions.tell(OTHER, [VICTIM])
    told(pending_evictions)
    pending_evictions.call_off([VICTIM])


@pytest.mark.parametrize(
    ("happens", "leaves", "is_awaited"),
    [
        pytest.param(lambda _: None, False, False, id="nothing"),
        pytest.param(told, True, True, id="one that was told to go, before the API server shows it"),
        pytest.param(told_and_seen, True, True, id="and when it does"),
        pytest.param(gone, False, False, id="not when it is gone"),
        pytest.param(evictions_cancelled, False, False, id="not if it was not evicted after all"),
        pytest.param(lambda found: change(found, VICTIM, SEEN), True, False, id="one that another scheduler evicts"),
        pytest.param(lambda found: change(found, VICTIM, DELETED), False, False, id="not one that its owner deletes"),
    ],
)
def test_who_leaves(happens: Callable[[PendingEvictions], None], leaves: bool, is_awaited: bool) -> None:
    pending_evictions = PendingEvictions()
    pending_evictions.placed(VICTIM)
    happens(pending_evictions)
    assert [pod.uid for pod in pending_evictions.all()] == ["victim"] * leaves
    assert [pod.uid for pod in pending_evictions.made_for(PREEMPTOR)] == ["victim"] * is_awaited
    assert pending_evictions.made_for(OTHER) == []


def test_one_that_leaves_for_two() -> None:
    pending_evictions = PendingEvictions()
    for preemptor in (PREEMPTOR, OTHER):
        pending_evictions.tell(preemptor, [VICTIM])
    assert (
        pending_evictions.made_for(PREEMPTOR)
        == pending_evictions.made_for(OTHER)
        == pending_evictions.all()
        == [VICTIM]
    )


def test_one_that_is_taken_away_only_in_a_what_if_still_leaves() -> None:
    pending_evictions = PendingEvictions()
    told(pending_evictions)
    pending_evictions.left(VICTIM)
    assert pending_evictions.all() == []
    pending_evictions.placed(SEEN)
    assert pending_evictions.all() == [SEEN]


def test_nothing_is_kept_of_those_that_are_gone() -> None:
    pending_evictions = PendingEvictions()
    gone(pending_evictions)
    pending_evictions.tell(OTHER, [])
    assert pending_evictions._told == {}
