"""The engine alone, on clusters that are much smaller than those it is measured with."""

import asyncio
from dataclasses import replace

import pytest

from bench.engine import CONFIGURATION, measure
from bench.preemptors import burst
from bench.workloads import WORKLOADS, Workload
from pilotage.config.load import load
from pilotage.plugins.catalogue import built_in
from pilotage.profiles import build_profiles

GANG = next(workload for workload in WORKLOADS if workload.is_gang)


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_every_pod_gets_an_answer(workload: Workload) -> None:
    found = measure(replace(workload, count=10), 30)
    assert (found.pods, found.placed) == (10, 0 if "unschedulable" in workload.name else 10)


def test_a_gang_without_room_for_all_gets_none() -> None:
    found = measure(replace(GANG, count=100), 30)
    assert (found.pods, found.placed) == (100, 0)


def test_a_burst_of_preemptors_evicts_nobody_for_nothing() -> None:
    """The API server shows every eviction long after it has said yes, and others leave in between."""
    catalogue = built_in()
    profiles = build_profiles(load(CONFIGURATION % ("nothing", ""), catalogue), catalogue)
    found = asyncio.run(burst(profiles, 60, 60, lambda: None))
    assert (found.placed, found.evicted, found.tries) == (60, 180, 120)
