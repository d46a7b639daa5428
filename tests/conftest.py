"""Fixtures that every level of test may use; clusters are made only when a test asks for one."""

import gc
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from xdist.scheduler import LoadFileScheduling

from auditor.running import RunningAuditor
from kit.control_plane import ControlPlane, name_for_this_run, sweep
from kit.control_plane import control_plane as running_control_plane
from kit.fixtures import Audit, Nodes
from kit.tiers import AT_LENGTH

TESTS = Path(__file__).parent
PYTEST_KIND_NAME = "pytest-kind"  # what pytest-kind says if nobody does

# No timing in a test's verdict: a loaded machine is no failure.
settings.register_profile("at length", deadline=None, max_examples=AT_LENGTH)
settings.register_profile("short", deadline=None, max_examples=AT_LENGTH // 4)

# Real nodes take what two cores give: one run has one cluster of them at a time. Other runs and a demo live beside it.
REAL_NODES = ("tests/e2e/",)


class ByFile(LoadFileScheduling):  # type: ignore[misc] # xdist tells no types
    """Shares files of tests out among workers; all that need real nodes go to one of them."""

    def _split_scope(self, nodeid: str) -> str:
        return "real nodes" if nodeid.startswith(REAL_NODES) else str(super()._split_scope(nodeid))


def pytest_configure(config: pytest.Config) -> None:
    """Choose how much is generated, and give pytest-kind's cluster a name of this run's own, unless it has one."""
    settings.load_profile("at length" if _has_time(config) else "short")
    if config.option.cluster_name == PYTEST_KIND_NAME:
        config.option.cluster_name = f"{name_for_this_run()}-kind"


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove what pytest-kind keeps of a cluster that has a name of this run's own."""
    if config.option.cluster_name == f"{name_for_this_run()}-kind":
        shutil.rmtree(Path(".pytest-kind") / config.option.cluster_name, ignore_errors=True)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFile:
    """Replace xdist's own way to share out, whatever --dist says."""
    return ByFile(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests without clusters first: a cluster stays to the end of the run, and takes its share of the machine.

    Of the others the longest come first. pytest-kind keeps its cluster: tests that make one of their own come before.
    """
    levels = ["oracle", "e2e", "integration"]
    items.sort(key=lambda item: 1 + levels.index(name) if (name := _level(item)) in levels else 0)
    items.sort(key=lambda item: "kind_cluster" in getattr(item, "fixturenames", ()))


def pytest_collection_finish() -> None:
    """Keep the garbage collector from thousands of tests that stay to the end: some tests call it again and again."""
    gc.collect()
    gc.freeze()


def _has_time(config: pytest.Config) -> bool:
    return "full" not in config.option.markexpr


def _level(item: pytest.Item) -> str:
    return item.path.relative_to(TESTS).parts[0]


@pytest.fixture(scope="session")
def at_length(pytestconfig: pytest.Config) -> bool:
    """Whether this run has time: then what is repeated is repeated more often, too."""
    return _has_time(pytestconfig)


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
