"""Fixtures that every level of test may use; clusters are made only when a test asks for one."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from auditor.running import RunningAuditor
from testbed.control_plane import ControlPlane, name_for_this_run, sweep
from testbed.control_plane import control_plane as running_control_plane
from testbed.fixtures import Audit, Nodes


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
