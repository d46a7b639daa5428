"""Our engine against the real kube-scheduler v1.37.1: generated clusters, the same decision for every pod."""

from collections.abc import Iterator

import pytest

from oracle.coverage import Coverage
from oracle.generate import DEVICE_SUBJECTS, SUBJECTS, scenario, seeds_of
from oracle.judge import Judge
from oracle.ours import Ours
from oracle.real import RealScheduler

SCENARIOS, OF_DEVICES = 240, 300
SHRINK_SECONDS = 40
# One more than the share of each, so that there are never fewer than wanted.
EACH = SCENARIOS // (len(SUBJECTS) - len(DEVICE_SUBJECTS)) + 1
EACH_OF_DEVICES = OF_DEVICES // len(DEVICE_SUBJECTS) + 1


@pytest.fixture(scope="module")
def real() -> Iterator[RealScheduler]:
    """One kube-scheduler for all scenarios."""
    with RealScheduler() as running:
        yield running


@pytest.fixture(scope="module")
def coverage() -> Coverage:
    """What all tests together saw."""
    return Coverage()


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: f"{subject} is decided as kube-scheduler decides it")
def test_subject(real: RealScheduler, coverage: Coverage, subject: str) -> None:
    judge = Judge(real, Ours(real.configuration), coverage.see)
    for seed in seeds_of(subject, EACH_OF_DEVICES if subject in DEVICE_SUBJECTS else EACH):
        before = coverage.decisions
        finding = judge.first_difference(scenario(seed))
        assert coverage.decisions > before, f"seed {seed}: kube-scheduler decided nothing"
        if finding:
            pytest.fail(judge.smallest(finding, SHRINK_SECONDS).story(), pytrace=False)


def test_every_default_plugin_was_seen_to_matter(coverage: Coverage) -> None:
    if len(coverage.scenarios) < SCENARIOS + OF_DEVICES:
        pytest.skip("only some of the scenarios were run")
    assert coverage.untested() == set()
