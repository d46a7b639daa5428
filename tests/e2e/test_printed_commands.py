"""What README and docs print about a release, on real kubelets with our own images: also what fake nodes cannot do."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from images.build import build
from images.order import Wishes
from kit.control_plane import KIND, ControlPlane
from kit.printed_pages import ON_REAL_NODES, Where, signal_of, to_run
from kit.printed_shell import PrintedShell
from localcluster import lifecycle, real_kind, record

NAME = "printed"
IMAGES = ("localhost/pilotage-scheduler:dev", "localhost/pilotage-operator:dev")
# A registry is not to be had here: the images are loaded onto the nodes, where the chart then finds them.
SWAPPED = {
    "registry.example.com/team/pilotage-scheduler:0.1.0": "localhost/pilotage-scheduler:dev",
    "registry.example.com/team": "localhost",
    "image.tag=0.1.0": "image.tag=dev",
    "tag: 0.1.0": "tag: dev",
}

pytestmark = pytest.mark.skipif(real_kind.engine_answers(), reason="the real kind keeps its clusters elsewhere")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Two real nodes, the stock scheduler, and our images on the nodes."""
    kubeconfig = f"--kubeconfig={tmp_path_factory.mktemp('cluster') / 'kubeconfig'}"
    try:
        subprocess.run([KIND, "create", "cluster", f"--name={NAME}", kubeconfig], check=True)
        build(["scheduler", "operator"], Wishes(tag="dev"))
        for image in IMAGES:
            subprocess.run([KIND, "load", "docker-image", image, f"--name={NAME}"], check=True)
        yield ControlPlane(record.load_existing(NAME))
    finally:
        lifecycle.delete(NAME)


@pytest.fixture
def empty(cluster: ControlPlane) -> Iterator[ControlPlane]:
    """The cluster, and afterwards nothing of what a page has left there."""
    before = {kind: set(cluster.kubectl("get", kind, "-o", "name").split()) for kind in ("clusterrole", "namespace")}
    yield cluster
    helm, kubectl = cluster.helm(4), cluster.kubectl
    for release in json.loads(helm("list", "--all-namespaces", "-o", "json")):
        helm("uninstall", release["name"], "--namespace", release["namespace"], "--wait", timeout=180)
    kubectl("delete", "pods", "--all", "-n", "default")
    definitions = kubectl("get", "crd", "-o", "name").split()
    if definitions:
        kubectl("delete", *definitions)
    for kind, known in before.items():
        if left := set(kubectl("get", kind, "-o", "name").split()) - known:
            kubectl("delete", *left)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("page", ON_REAL_NODES, ids=lambda page: page.name)
def test_a_page_does_what_it_prints(empty: ControlPlane, page: Path, tmp_path: Path) -> None:
    shell = PrintedShell(tmp_path, empty, SWAPPED)
    shell.bring(page)
    try:
        for printed in to_run(page, Where.FAKE_NODES, Where.REAL_NODES):
            says = signal_of(printed.command)
            shell.start(printed, says) if says else shell.run(printed)
    except AssertionError as error:
        told = empty.kubectl.attempt("get", "pods,schedulerprofiles", "-A", "-o", "wide").stdout
        raise AssertionError(f"{error}\n{told}") from None
    finally:
        shell.close()
