"""What `make images push` gave to a registry is pulled by real nodes, as the printed command installs it."""

import os
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from images.small_registry import SmallRegistry, serving
from kit.control_plane import KIND, NO_OWN_NODES, ControlPlane, name_for_this_run, sweep, without_own_nodes
from localcluster import lifecycle, record
from localcluster.paths import HACK, REPOSITORY

NAME = f"{name_for_this_run()}-push"

pytestmark = pytest.mark.skipif(without_own_nodes(), reason=NO_OWN_NODES)


@pytest.fixture
def registry() -> Iterator[SmallRegistry]:
    """A registry that nodes reach, too."""
    with serving(SmallRegistry(address="0.0.0.0")) as running:  # noqa: S104 - the bridge has no address yet
        yield running


@pytest.fixture
def cluster(registry: SmallRegistry, tmp_path: Path) -> Iterator[ControlPlane]:
    """One real node that has no image of ours."""
    sweep()
    words = [f"--name={NAME}", f"--kubeconfig={tmp_path / 'kubeconfig'}", "--nodes=1", f"--registry={registry.name}"]
    try:
        subprocess.run([KIND, "create", "cluster", "--shape=full", *words], check=True)
        yield ControlPlane(record.load_existing(NAME))
    finally:
        lifecycle.delete(NAME)


def test_a_pushed_release_is_pulled_and_becomes_ready(cluster: ControlPlane, registry: SmallRegistry) -> None:
    push = [
        "make",
        "--no-print-directory",
        "-C",
        str(REPOSITORY),
        "push",
        f"REGISTRY={registry.name}/team",
        "TAG=pushed",
    ]
    said = subprocess.run(push, check=True, capture_output=True, text=True).stdout
    [printed] = [line.strip() for line in said.splitlines() if line.strip().startswith("helm install")]
    helm, *words = shlex.split(printed)
    command = [str(HACK / helm), *words, "--timeout=3m"]
    environment = os.environ | {"KUBECONFIG": str(cluster.kubeconfig)}
    subprocess.run(command, check=True, cwd=REPOSITORY, env=environment)
    pods = cluster.kubectl.get("pods", "-n", "pilotage")["items"]
    images = {pod["spec"]["containers"][0]["image"] for pod in pods}
    assert images == {f"{registry.name}/team/pilotage-{name}:pushed" for name in ("scheduler", "operator")}
    ids = {pod["status"]["containerStatuses"][0]["imageID"].partition("@")[2] for pod in pods}
    assert {f"team/pilotage-scheduler/{each}" in registry.manifests for each in ids} == {True, False}
    assert all(each in said for each in ids), "what runs is what was pushed"
