"""The page of every plugin, tried on a real API server: its profile becomes Ready, and its pods go where it says.

The nodes are those of the example, and a control-plane node where the release runs.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from kit.control_plane import ControlPlane, name_for_this_run
from kit.control_plane import control_plane as running_control_plane
from kit.example_cluster import example_cluster
from kit.foreign_definitions import NODE_METRICS, SECCOMP_PROFILES
from kit.played_pods import PlayedPods, played_pods
from kit.printed_commands import commands_of, pages
from kit.printed_pages import is_of_a_plugin
from kit.printed_shell import PrintedShell
from kit.release import CHART
from localcluster.paths import REPOSITORY
from pilotage.testing import node_manifest

PAGES = {page.stem: page for page in pages() if is_of_a_plugin(page) and page.stem != "README"}
# tests/unit/cli compares what the pages show, and test_live_plugins.py switches the plugins.
pytestmark = pytest.mark.full
CONTROL_PLANE = {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}
# Only the examples' own profiles: one that sorts the queue must be the only one.
VALUES = (
    "scheduler.createProfile=false",
    "scheduler.replicaCount=1",
    *(f"{component}.tolerations[0].operator=Exists" for component in ("scheduler", "operator")),
    *(rf"{component}.nodeSelector.kubernetes\.io/hostname=control-plane" for component in ("scheduler", "operator")),
)


@dataclass(frozen=True)
class Ground:
    """A release without a profile of its own, and its programs."""

    control_plane: ControlPlane
    played: PlayedPods


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """A control plane of its own, because nodes and profiles have the names that pages give them."""
    folder = tmp_path_factory.mktemp("pages")
    with running_control_plane(f"{name_for_this_run()}-pages", folder / "kubeconfig") as plane:
        definitions = (NODE_METRICS, SECCOMP_PROFILES)
        plane.kubectl.apply(*definitions)
        names = [f"crd/{each['metadata']['name']}" for each in definitions]
        plane.kubectl.until_established(*names)
        plane.fake_nodes([node_manifest("control-plane", taints=[CONTROL_PLANE], cpu="8", memory="32Gi")])
        with played_pods(plane, folder) as played:
            here = ("--namespace", "pilotage", "--create-namespace", "--wait")
            plane.helm(4)("install", "pilotage", CHART, *here, *(f"--set={value}" for value in VALUES))
            played.until_ready()
            yield Ground(plane, played)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("page", PAGES)
def test_pods_go_where_the_page_says(ground: Ground, page: str, tmp_path: Path) -> None:
    shell = PrintedShell(tmp_path, ground.control_plane, {})
    try:
        with example_cluster(ground.control_plane, REPOSITORY / "examples" / page):
            for printed in commands_of(PAGES[page]):
                if not printed.command.startswith("pilotage simulate"):  # tests/unit/cli compares those
                    shell.run(printed)
    except AssertionError as error:
        raise AssertionError(f"{error}\n{ground.played.story()}") from None
    finally:
        ground.control_plane.kubectl("delete", "schedulerprofiles", "--all")
