"""Fixtures that every level of test may use; clusters are made only when a test asks for one."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from xdist.scheduler import LoadFileScheduling

from auditor.running import RunningAuditor
from testbed.control_plane import ControlPlane, name_for_this_run, sweep
from testbed.control_plane import control_plane as running_control_plane
from testbed.fixtures import Audit, Nodes

# No timing in a test's verdict: a loaded machine is no failure.
settings.register_profile("pilotage", deadline=None)
settings.load_profile("pilotage")

# One full cluster fits on a machine, and who compares the machine before and after must be alone in changing it.
WHOLE_MACHINE = ("tests/e2e/", "tests/integration/test_cluster_tool.py")


class ByFile(LoadFileScheduling):  # type: ignore[misc] # xdist tells no types
    """Shares files of tests out among workers; all that need the whole machine go to one of them."""

    def _split_scope(self, nodeid: str) -> str:
        return "whole machine" if nodeid.startswith(WHOLE_MACHINE) else str(super()._split_scope(nodeid))


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFile:
    """Replace xdist's own way to share out, whatever --dist says."""
    return ByFile(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Longest first; and pytest-kind keeps its cluster to the end, so tests that make one of their own come before."""
    levels = ["e2e", "integration"]
    items.sort(key=lambda item: levels.index(name) if (name := item.path.parent.name) in levels else len(levels))
    items.sort(key=lambda item: "kind_cluster" in getattr(item, "fixturenames", ()))


@pytest.fixture(scope="session")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """One real control plane with fake nodes for the whole run."""
    sweep()
    kubeconfig = tmp_path_factory.mktemp("cluster") / "kubeconfig"
    with running_control_plane(name_for_this_run(), kubeconfig) as running:
        yield running


@pytest.fixture
def namespace(control_plane: ControlPlane) -> Iterator[str]:
    """A namespace of the test's own, with its service account, deleted afterwards."""
    name = f"test-{uuid.uuid4().hex[:10]}"
    control_plane.kubectl("create", "namespace", name)
    control_plane.kubectl("-n", name, "wait", "--for=create", "serviceaccount/default", "--timeout=30s")
    yield name
    control_plane.kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture
def fake_nodes(control_plane: ControlPlane) -> Iterator[Nodes]:
    """Registers fake nodes from manifests, waits until they are Ready, removes them afterwards."""
    mark = uuid.uuid4().hex

    def register(*manifests: dict[str, Any]) -> list[str]:
        for manifest in manifests:
            manifest["metadata"]["labels"]["test"] = mark
        control_plane.fake_nodes(manifests)
        return [manifest["metadata"]["name"] for manifest in manifests]

    yield register
    control_plane.delete_nodes(f"test={mark}")


@pytest.fixture
def audit(control_plane: ControlPlane, tmp_path: Path) -> Audit:
    """Runs the outside auditor around a piece of a test."""

    @contextmanager
    def run(**options: Any) -> Iterator[RunningAuditor]:
        with RunningAuditor(control_plane.kubeconfig, control_plane.audit_log, tmp_path, **options) as running:
            yield running

    return run
