"""The engine alone, on clusters that are much smaller than those it is measured with."""

from dataclasses import replace

import pytest

from bench.engine import measure
from bench.workloads import WORKLOADS, Workload

GANG = next(workload for workload in WORKLOADS if workload.is_gang)


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_every_pod_gets_an_answer(workload: Workload) -> None:
    found = measure(replace(workload, count=10), 30)
    assert (found.pods, found.placed) == (10, 0 if "unschedulable" in workload.name else 10)


def test_a_gang_without_room_for_all_gets_none() -> None:
    found = measure(replace(GANG, count=100), 30)
    assert (found.pods, found.placed) == (100, 0)
