"""Every command that README and docs print does what is printed, in their order, on a real API server.

Nodes are fake, and the pods of a release are its real programs as processes. What needs real nodes is in tests/e2e, what
no test can run is listed with its reason in testbed/printed_pages.py.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from cluster.paths import REPOSITORY
from pilotage.testing import node_manifest
from testbed.control_plane import ControlPlane, name_for_this_run
from testbed.control_plane import control_plane as running_control_plane
from testbed.played_pods import played_pods
from testbed.printed_pages import Where, pages_to_run, signal_of, to_run
from testbed.printed_shell import PrintedShell

PAGES = {str(page.relative_to(REPOSITORY)): page for page in pages_to_run(Where.FAKE_NODES)}
OF_THE_CLUSTER = ("default", "kube-system", "kube-public", "kube-node-lease")
# What a page takes for granted: nodes of its own in place of those of a release, and objects.
CLUSTERS = {"docs/explain.md": "examples/explain/cluster.yaml"}


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
    kubectl("delete", "schedulerprofiles", "--all", "--ignore-not-found") if definitions(plane) else None
    kubectl("delete", "pods,deployments,serviceaccounts", "--all", "-n", "default", "--force", "--grace-period=0")
    kubectl("delete", "nodes", "--all")
    kubectl("delete", "clusterroles,clusterrolebindings", "-l", "!kubernetes.io/bootstrapping")
    names = [item["metadata"]["name"] for item in kubectl.get("namespaces")["items"]]
    if own := [name for name in names if name not in OF_THE_CLUSTER]:
        kubectl("delete", "namespace", *own)


def definitions(plane: ControlPlane) -> bool:
    return "schedulerprofiles.pilotage.dev" in plane.kubectl("get", "crd", "-o", "name")


def furnish(plane: ControlPlane, page: str) -> None:
    """Create the nodes and objects that a page takes for granted."""
    if page not in CLUSTERS:
        plane.fake_nodes([node_manifest(f"n{number}", cpu="8", memory="32Gi") for number in (1, 2)])
        return
    found = list(yaml.safe_load_all((REPOSITORY / CLUSTERS[page]).read_text()))
    plane.fake_nodes([manifest for manifest in found if manifest["kind"] == "Node"])
    plane.kubectl.apply(*(manifest for manifest in found if manifest["kind"] != "Node"))


@pytest.mark.timeout(300)
@pytest.mark.parametrize("page", PAGES)
def test_a_page_does_what_it_prints(empty: ControlPlane, page: str, tmp_path: Path) -> None:
    furnish(empty, page)
    programs, reader = tmp_path / "programs", tmp_path / "reader"
    programs.mkdir()
    reader.mkdir()
    shell = PrintedShell(reader, empty, {})
    shell.bring(PAGES[page])
    with played_pods(empty, programs) as played:
        try:
            for printed in to_run(PAGES[page], Where.FAKE_NODES):
                says = signal_of(printed.command)
                shell.start(printed, says) if says else shell.run(printed)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{played.story()}") from None
        finally:
            shell.close()
