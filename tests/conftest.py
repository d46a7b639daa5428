"""Fixtures that every level of test may use; clusters are made only when a test asks for one."""

import os
import re
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

TESTS = Path(__file__).parent
PYTEST_KIND_NAME = "pytest-kind"  # what pytest-kind says if nobody does

# No timing in a test's verdict: a loaded machine is no failure.
settings.register_profile("pilotage", deadline=None)
settings.load_profile("pilotage")

# Real nodes take what two cores give: one run has one cluster of them at a time. Other runs and a demo live beside it.
REAL_NODES = ("tests/e2e/",)


# Left out of a plain test run, which has minutes; PILOTAGE_TESTS=all (make test-all) runs them too. What they show is
# shown in part by their neighbours: the same scene with the real kube-scheduler, or one more way to fail.
ONLY_WITH_ALL = re.compile(
    r"test_live_at_size|test_kube_scheduler_at_size"
    r"|test_full_shape.*(restart_ended|while it creates)"
    r"|test_live_faults_pods.*breaks_on_some"
    r"|test_live_extenders.*(\[kube-scheduler|whole|sick_extenders|rejected_pod)"
    r"|test_live_faults_(leader|nodes)"
    r"|test_live_faults_api_server.*compacted"
    r"|test_live_preemption.*(\[kube-scheduler|more_important_preemptor|preemptor_that_is_deleted|not_bound_yet)"
    r"|test_live_plugins.*\[(NodeResourcesA|PreemptionT|Load|LowRisk|Peaks|SySched|NodeMeta|PodState|ScoreBy)"
    r"|test_live_gangs.*(single_pods|two_schedulers|is_killed)"
    r"|test_live_quota.*(priorities_do|several_namespaces|were_there_before)"
    r"|test_controllers.*(somebody_else|order_of|costs_from|whatever_becomes|is_refused_says|comes_later)"
    r"|test_live_plugin_troubles.*(is a number|says nothing|does not have|than there are pods)"
    r"|test_live_takeover|test_every_right_is_needed"
    r"|test_live_wording.*(deleted|near|elsewhere|claim has|nominated|more important|equals|evicted|spread)"
    r"|test_live_wording.*(message|lost its|then is again)"
    r"|test_operator.*(survived|anywhere)"
    r"|test_chart_on_a_cluster.*(every_variant|written_by|side_by_side|security.Helm 3)"
    r"|test_release.*(Helm 3|by_values)|test_harmful_plugins"
    r"|test_live_plugin_files.*(2 GB|exits|sleeps|wrong type|it raises|new_argument|for_good|import that|as it is imp)"
    r"|test_live_plugin_files.*(is gone|is_killed)"
    r"|test_live_bad_plugins.*(in score|\^C|pre_enqueue|pre_bind)"
    r"|test_unchanged_applies.*rest.server"
    r"|test_helm_test.*(ready.Helm 3|somebody_else)"
    r"|integration/test_printed_commands.*(operations|migrate|charts|sharing|images|run\.md|cluster\.md)|e2e/test_printed_commands"
    r"|test_plugin_pages_live.*\[(capacity|qos|cross|load|low|network|node|peaks|pod|preemption|score|sy|target|topological)"
    r"|test_beside_kube_scheduler|test_races_live.*(kube-scheduler|without it)"
    r"|test_volumes_live.*(\[kube-scheduler|attach|made_where)"
)


class ByFile(LoadFileScheduling):  # type: ignore[misc] # xdist tells no types
    """Shares files of tests out among workers; all that need real nodes go to one of them."""

    def _split_scope(self, nodeid: str) -> str:
        return "real nodes" if nodeid.startswith(REAL_NODES) else str(super()._split_scope(nodeid))


def pytest_configure(config: pytest.Config) -> None:
    """Give pytest-kind's cluster a name of this run's own, unless somebody chose one."""
    if config.option.cluster_name == PYTEST_KIND_NAME:
        config.option.cluster_name = f"{name_for_this_run()}-kind"


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove what pytest-kind keeps of a cluster that has a name of this run's own."""
    if config.option.cluster_name == f"{name_for_this_run()}-kind":
        shutil.rmtree(Path(".pytest-kind") / config.option.cluster_name, ignore_errors=True)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFile:
    """Replace xdist's own way to share out, whatever --dist says."""
    return ByFile(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests without clusters first: a cluster stays to the end of the run, and takes its share of the machine.

    Of the others the longest come first. pytest-kind keeps its cluster: tests that make one of their own come before.
    """
    if os.environ.get("PILOTAGE_TESTS") != "all":
        left_out = [item for item in items if ONLY_WITH_ALL.search(item.nodeid)]
        items[:] = [item for item in items if item not in set(left_out)]
        config.hook.pytest_deselected(items=left_out)
    levels = ["oracle", "e2e", "integration"]
    items.sort(key=lambda item: 1 + levels.index(name) if (name := _level(item)) in levels else 0)
    items.sort(key=lambda item: "kind_cluster" in getattr(item, "fixturenames", ()))


def _level(item: pytest.Item) -> str:
    return item.path.relative_to(TESTS).parts[0]


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
