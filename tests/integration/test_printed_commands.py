"""Every command that README and docs print does what is printed, in their order, on a real API server.

Nodes are fake, and the pods of a release are its real programs as processes. What needs real nodes is in tests/e2e,
what no test can run is listed with its reason in kit/printed_pages.py.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kit.control_plane import ControlPlane, name_for_this_run
from kit.control_plane import control_plane as running_control_plane
from kit.played_pods import PlayedPods, played_pods
from kit.printed_commands import Printed
from kit.printed_pages import Where, pages_to_run, signal_of, to_run
from kit.printed_shell import PrintedShell
from kit.tiers import tiered
from localcluster.paths import REPOSITORY
from pilotage.testing import node_manifest, pod_manifest

Manifest = dict[str, Any]
PAGES = {str(page.relative_to(REPOSITORY)): page for page in pages_to_run(Where.FAKE_NODES)}
OF_THE_CLUSTER = ("default", "kube-system", "kube-public", "kube-node-lease")
INSTALL = "docs/install.md"
# `make test` has no time for these; README installs a release, and waits for profiles, as they do.
LONG = (
    "charts/pilotage/README.md",
    *(f"docs/{name}.md" for name in ("cluster", "images", "migrate-from-scheduler-plugins", "operations", "run")),
    *("docs/sharing-nodes.md", "docs/schedulerprofile.md", INSTALL),
)
# What pages take for granted: a release, as the page about that installs it, or the cluster that is shown.
AFTER_INSTALL = ("docs/schedulerprofile.md", "docs/sharing-nodes.md")
SHOWN_CLUSTER = ("docs/explain.md",)


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A control plane of its own: pages install things under names that others may use."""
    folder = tmp_path_factory.mktemp("printed")
    with running_control_plane(f"{name_for_this_run()}-printed", folder / "kubeconfig") as running:
        yield running


@pytest.fixture
def empty(plane: ControlPlane) -> Iterator[ControlPlane]:
    """The control plane, and afterwards nothing of what a page has left there."""
    yield plane
    helm, kubectl = plane.helm(4), plane.kubectl
    for release in json.loads(helm("list", "--all-namespaces", "-o", "json")):
        helm("uninstall", release["name"], "--namespace", release["namespace"])
    names = [item["metadata"]["name"] for item in kubectl.get("namespaces")["items"]]
    if own := [name for name in names if name not in OF_THE_CLUSTER]:
        kubectl("delete", "namespace", *own)  # before the nodes, without which no pod ever ends
    if "schedulerprofiles.pilotage.dev" in kubectl("get", "crd", "-o", "name"):
        kubectl("delete", "schedulerprofiles", "--all")
    kubectl("delete", "pods,serviceaccounts", "--all", "-n", "default", "--force", "--grace-period=0")
    kubectl("delete", "clusterroles,clusterrolebindings", "-l", "!kubernetes.io/bootstrapping")
    kubectl("delete", "nodes", "--all")


def two_nodes() -> list[Manifest]:
    return [node_manifest(f"n{number}", cpu="8", memory="32Gi") for number in (1, 2)]


def shown_cluster() -> tuple[list[Manifest], list[Manifest]]:
    """Return the nodes of examples/cluster.yaml, and pods on them beside one for which there is no room."""
    found = list(yaml.safe_load_all((REPOSITORY / "examples/cluster.yaml").read_text()))
    nodes = [manifest for manifest in found if manifest["kind"] == "Node"]
    for node in nodes:
        node["metadata"]["labels"]["type"] = "kwok"
        node["metadata"]["annotations"] = {"kwok.x-k8s.io/node": "fake"}
        node["status"]["capacity"] = node["status"]["allocatable"]
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    running = {"n1": "2500m", "n2": "1"}
    pods = [pod_manifest(f"on-{node}", namespace="shop", node=node, cpu=cpu) for node, cpu in running.items()]
    return nodes, [namespace, *pods, pod_manifest("web-1", namespace="shop", cpu="3500m")]


class Page:
    """A page that is played on a control plane, in a folder of its own."""

    def __init__(self, plane: ControlPlane, page: str, folder: Path, played: PlayedPods) -> None:
        self._page, self._played = PAGES[page], played
        self._shell = PrintedShell(folder, plane, {})

    def play(self) -> None:
        """Run all commands that fake nodes are enough for."""
        self._shell.bring(self._page)
        try:
            for printed in to_run(self._page, Where.FAKE_NODES):
                self._run(printed)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self._played.story()}") from None
        finally:
            self._shell.close()

    def install(self) -> None:
        """Do only what the page about that prints to install a release."""
        [command] = [each for each in to_run(self._page, Where.FAKE_NODES) if each.command.startswith("helm install")]
        self._run(command)

    def _run(self, printed: Printed) -> None:
        if says := signal_of(printed.command):
            self._shell.start(printed, says)
        else:
            self._shell.run(printed)
        if printed.command.startswith("helm ") and "--wait" in printed.command:
            self._played.until_ready()  # nobody asks the probes of a fake pod


@pytest.mark.timeout(300)
@pytest.mark.parametrize("page", tiered(PAGES, full=LONG))
def test_a_page_does_what_it_prints(empty: ControlPlane, page: str, tmp_path: Path) -> None:
    nodes, objects = shown_cluster() if page in SHOWN_CLUSTER else (two_nodes(), [])
    empty.fake_nodes(nodes)
    if objects:
        empty.kubectl.apply(*objects)
    for folder in ("programs", "installer", "reader"):
        (tmp_path / folder).mkdir()
    with played_pods(empty, tmp_path / "programs") as played:
        if page in AFTER_INSTALL:
            Page(empty, INSTALL, tmp_path / "installer", played).install()
        Page(empty, page, tmp_path / "reader", played).play()
