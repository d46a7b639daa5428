"""A test pod counts only if a replica of this release placed it."""

import pytest

from pilotage_operator.profiles.world import Metadata
from pilotage_operator.settings import settings_for
from pilotage_operator.verification.placements import (
    Event,
    PodCondition,
    PodSpec,
    PodStatus,
    Regarding,
    TestPod,
    about_placements,
)

SETTINGS = settings_for("team", "mine")
REPLICAS = ["mine-scheduler-a", "mine-scheduler-b"]
PLACED = TestPod(Metadata(name="mine-test-0-x", uid="1", creation_timestamp="2"), PodSpec("batch", "n1"))
EARLIER = TestPod(Metadata(name="mine-test-0-w", uid="0", creation_timestamp="1"), PodSpec("batch"))
GOING = TestPod(Metadata(name="mine-test-0-y", uid="2", creation_timestamp="3", deletion_timestamp="4"))
BY_US = Event("Scheduled", "batch-mine-scheduler-b", Regarding("1"))


def waiting(*conditions: PodCondition) -> TestPod:
    return TestPod(Metadata(name="mine-test-0-x", uid="1"), PodSpec("batch"), PodStatus(list(conditions)))


WAITS = PodCondition("PodScheduled", "False", "0/2 nodes are available: 2 Insufficient cpu.")


@pytest.mark.parametrize(
    ("pods", "events", "is_well", "expected"),
    [
        pytest.param(
            [PLACED, EARLIER, GOING],
            [BY_US],
            True,
            "pod mine-test-0-x of scheduler batch was placed on n1 by mine-scheduler-b",
            id="placed by us",
        ),
        pytest.param(
            [PLACED],
            [Event("Scheduled", "batch-other-scheduler-a", Regarding("1"))],
            False,
            "pod mine-test-0-x of scheduler batch was placed on n1 by batch-other-scheduler-a, which is not a replica "
            "of this release",
            id="placed by another release under the same name",
        ),
        pytest.param(
            [PLACED],
            [Event("Scheduled", "default-scheduler-mine-scheduler-b", Regarding("1"))],
            False,
            "pod mine-test-0-x of scheduler batch was placed on n1 by default-scheduler-mine-scheduler-b, which is not "
            "a replica of this release",
            id="placed under another name",
        ),
        pytest.param(
            [PLACED],
            [Event("Scheduled", "batch-mine-scheduler-b", Regarding("9")), Event("Preempted", "x", Regarding("1"))],
            False,
            "pod mine-test-0-x of scheduler batch is on n1, and there is no Scheduled event yet",
            id="no event about it",
        ),
        pytest.param(
            [waiting(WAITS)],
            [],
            False,
            "pod mine-test-0-x of scheduler batch is pending: 0/2 nodes are available: 2 Insufficient cpu.",
            id="no room",
        ),
        pytest.param(
            [waiting()],
            [],
            False,
            "pod mine-test-0-x of scheduler batch is pending: no scheduler has tried it",
            id="nobody serves it",
        ),
        pytest.param([], [], False, "there is no test pod of scheduler batch yet", id="no pod"),
    ],
)
def test_who_placed_it(pods: list[TestPod], events: list[Event], is_well: bool, expected: str) -> None:
    (found,) = about_placements(["batch"], pods, events, REPLICAS, SETTINGS)
    assert (found.is_well, found.sentence) == (is_well, expected)
    assert found.is_well or found.remedy


def test_a_name_that_was_cut_is_recognized() -> None:
    """An event names at most 128 characters of who reports it."""
    scheduler, replica = "s" * 63, "r" * 80
    pod = TestPod(Metadata(name="p", uid="1"), PodSpec(scheduler, "n1"))
    event = Event("Scheduled", f"{scheduler}-{replica}"[:128], Regarding("1"))
    (found,) = about_placements([scheduler], [pod], [event], [replica], SETTINGS)
    assert found.is_well
