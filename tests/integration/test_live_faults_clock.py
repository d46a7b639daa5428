"""The wall clock of a leader jumps by an hour, both ways: it neither loses its lease nor a pod."""

import os
from pathlib import Path

import pytest

from kit.control_plane import ControlPlane
from kit.fault_ground import FULL, USER, Ground
from kit.fixtures import Audit, Nodes
from kit.storm import wait_for_line
from localcluster.packages import ensure_packages

# It needs a Debian package, which `make test` does not install.
__test__ = FULL

STEPS = ("+3600s", "-3600s", "+0s")
LIBRARY = "faketime/libfaketimeMT.so.1"


def library() -> Path:
    ensure_packages({"faketime": "faketime"}, "A test that steps the clock of a process")
    return next(found for folder in Path("/usr/lib").glob("*-linux-gnu*") if (found := folder / LIBRARY).exists())


@pytest.fixture
def ground(control_plane: ControlPlane, namespace: str, tmp_path: Path, fake_nodes: Nodes, audit: Audit) -> Ground:
    words = ["-n", namespace, "create"]
    control_plane.kubectl(*words, "role", "leader", "--verb=get,create,update", "--resource=leases.coordination.k8s.io")
    control_plane.kubectl(*words, "rolebinding", "leader", "--role=leader", f"--user={USER}")
    return Ground(control_plane, namespace, tmp_path, fake_nodes, audit).prepare()


def test_a_clock_that_is_stepped_costs_neither_the_lease_nor_a_pod(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = ground.folder / "step"
    step.write_text("+0s")
    faked = {
        "LD_PRELOAD": str(library()),
        "FAKETIME_TIMESTAMP_FILE": str(step),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "DONT_FAKE_MONOTONIC": "1",
    }
    where = (f"--leader-elect-resource-namespace={ground.namespace}", "--leader-elect-resource-name=faults")
    times = ("--leader-elect-lease-duration=6s", "--leader-elect-renew-deadline=4s", "--leader-elect-retry-period=1s")
    starting = ground.pilotage("--leader-elect=true", *where, *times)
    with ground.audited() as running:
        with monkeypatch.context() as patch:
            for name, value in faked.items():
                patch.setenv(name, value)
            scheduler = starting.__enter__()
        try:
            assert "LD_PRELOAD" not in os.environ
            wait_for_line(scheduler.log, "scheduling pods of")
            with ground.storm(pods=300, rate=15) as storm:
                for number, wanted in enumerate(STEPS, start=1):
                    storm.reaches(number / (len(STEPS) + 1))
                    step.write_text(wanted)
                storm.ends_bound(60, [scheduler.log], alive=lambda: scheduler.process.poll() is None)
            hours = {line.split()[1][:2] for line in scheduler.log.read_text().splitlines() if "bound pod" in line}
            assert len(hours) >= 3, "the scheduler's clock did jump"
        finally:
            starting.__exit__(None, None, None)
    assert running.report["violations"] == []
