"""The chart on a real API server, with Helm 3 and Helm 4: it installs, changes, goes back, and goes without a trace.

Nobody places pods here, so that they wait: what is shown is what the API server, its admission and its garbage
collection make of the chart's objects.
"""

import json
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kit.commands import CommandFailed
from kit.control_plane import ControlPlane
from localcluster.paths import REPOSITORY

CHART = REPOSITORY / "charts" / "pilotage"
CRD = "schedulerprofiles.pilotage.dev"
CRDS = sorted(path.name.removesuffix(".yaml") for path in (CHART / "files" / "crds").iterdir())
KEPT = [f"customresourcedefinition.apiextensions.k8s.io/{name}" for name in CRDS]
MAJORS = pytest.mark.parametrize("major", [3, 4], ids=["Helm 3", "Helm 4"])
# Kinds that this cluster does not serve, and accounts that it does not have, are left out.
VARIANTS = sorted(
    path
    for path in (CHART / "ci").iterdir()
    if path.name not in {"monitoring-values.yaml", "brought-along-values.yaml"}
)
STAMP = "pilotage.dev/config-hash"


@pytest.fixture(autouse=True)
def no_definitions(control_plane: ControlPlane) -> Iterator[None]:
    """Each test begins and ends without the chart's definitions."""
    control_plane.kubectl.delete_definitions(*CRDS)
    yield
    control_plane.kubectl.delete_definitions(*CRDS)


@pytest.fixture
def restricted(control_plane: ControlPlane) -> Iterator[Callable[[], str]]:
    """Makes namespaces that enforce restricted Pod Security."""
    made: list[str] = []

    def make() -> str:
        name = f"chart-{uuid.uuid4().hex[:8]}"
        labels = {"pod-security.kubernetes.io/enforce": "restricted"}
        control_plane.kubectl.create(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
        )
        made.append(name)
        return name

    yield make
    for name in made:
        control_plane.kubectl("delete", "namespace", name, "--wait=false")


def left_over(control_plane: ControlPlane) -> list[str]:
    """Everything of Pilotage in the cluster, of every kind that can be listed; a kind that goes meanwhile is left."""
    kinds = control_plane.kubectl("api-resources", "--verbs=list", "-o", "name").split()
    ours = "app.kubernetes.io/part-of=pilotage"
    wanted = ",".join(kind for kind in kinds if not kind.startswith("events"))
    try:
        found = control_plane.kubectl("get", wanted, "-A", "-l", ours, "-o", "name", "--ignore-not-found")
    except CommandFailed as failure:
        if "doesn't have a resource type" not in str(failure):
            raise
        return ["a definition that is being deleted"]
    return sorted(found.split())


def until(state: Callable[[], Any], wanted: Any, seconds: float = 60) -> None:
    """Wait for what controllers bring about."""
    deadline = time.monotonic() + seconds
    while (found := state()) != wanted:
        assert time.monotonic() < deadline, f"{found} is not {wanted}"
        time.sleep(0.3)


def replicas(control_plane: ControlPlane, namespace: str) -> dict[str, int]:
    """How many pods each Deployment has got past admission."""
    listed = control_plane.kubectl.get("deployments", "-n", namespace)["items"]
    return {each["metadata"]["name"]: each.get("status", {}).get("replicas", 0) for each in listed}


@MAJORS
def test_its_life_under_restricted_pod_security(
    control_plane: ControlPlane, restricted: Callable[[], str], major: int
) -> None:
    """Install, upgrade, roll back, uninstall, install again; what the operator stamped stays, and nothing else does."""
    helm, kubectl, namespace = control_plane.helm(major), control_plane.kubectl, restricted()
    place = ("mine", str(CHART), "--namespace", namespace)
    deployment = ("deployment", "mine-pilotage-scheduler", "-n", namespace)
    helm("install", *place)
    until(lambda: replicas(control_plane, namespace), {"mine-pilotage-scheduler": 2, "mine-pilotage-operator": 1})
    patch = json.dumps({"spec": {"template": {"metadata": {"annotations": {STAMP: "0123456789abcdef"}}}}})
    kubectl("patch", *deployment, "--field-manager=pilotage-operator", "--type=strategic", "-p", patch)

    helm("upgrade", *place, "--values", str(CHART / "ci" / "profiles-values.yaml"), "--set", "scheduler.logLevel=4")
    assert "batch-scheduler" in profiles_text(control_plane, namespace)
    assert stamp_and_level(kubectl.get(*deployment)) == ("0123456789abcdef", "--v=4")

    helm("rollback", "mine", "1", "--namespace", namespace)
    assert "batch-scheduler" not in profiles_text(control_plane, namespace)
    assert stamp_and_level(kubectl.get(*deployment)) == ("0123456789abcdef", "--v=2")

    helm("uninstall", "mine", "--namespace", namespace)
    until(lambda: left_over(control_plane), KEPT)
    helm("install", *place)
    helm("uninstall", "mine", "--namespace", namespace)
    until(lambda: left_over(control_plane), KEPT)


def profiles_text(control_plane: ControlPlane, namespace: str) -> str:
    text: str = control_plane.kubectl.get("configmap", "mine-pilotage-values", "-n", namespace)["data"]["profiles.yaml"]
    return text


def stamp_and_level(deployment: dict[str, Any]) -> tuple[str, str]:
    template = deployment["spec"]["template"]
    (level,) = [word for word in template["spec"]["containers"][0]["args"] if word.startswith("--v=")]
    return template["metadata"]["annotations"][STAMP], level


@pytest.mark.parametrize("values", VARIANTS, ids=[path.name.removesuffix("-values.yaml") for path in VARIANTS])
def test_every_variant_is_accepted(control_plane: ControlPlane, restricted: Callable[[], str], values: Path) -> None:
    helm, namespace = control_plane.helm(4), restricted()
    helm("install", "mine", str(CHART), "--namespace", namespace, "--values", str(values))
    wanted = control_plane.kubectl.get("deployments", "-n", namespace)["items"]
    until(
        lambda: replicas(control_plane, namespace),
        {each["metadata"]["name"]: each["spec"]["replicas"] for each in wanted},
    )
    helm("uninstall", "mine", "--namespace", namespace)
    if values.name.startswith("everything"):  # the others have nothing that it has not; it keeps no definitions
        until(lambda: left_over(control_plane), [])


@MAJORS
def test_releases_live_side_by_side(control_plane: ControlPlane, restricted: Callable[[], str], major: int) -> None:
    """Two names in one namespace, and one name in two; the definition stays with the release that brought it."""
    helm, here, there = control_plane.helm(major), restricted(), restricted()
    releases = [("one", here), ("two", here), ("one", there)]
    for name, namespace in releases:
        helm("install", name, str(CHART), "--namespace", namespace, "--set", f"scheduler.name={name}.{namespace}")
    until(lambda: sum(replicas(control_plane, here).values()) + sum(replicas(control_plane, there).values()), 9)
    assert owner(control_plane) == ("one", here)
    helm("uninstall", "one", "--namespace", here)
    helm("upgrade", "one", str(CHART), "--namespace", there, "--reuse-values")
    assert owner(control_plane) == ("one", here)
    adopt = ("--reuse-values", "--set", "crds.adopt=true", "--take-ownership")
    helm("upgrade", "one", str(CHART), "--namespace", there, *adopt)
    assert owner(control_plane) == ("one", there)
    for name, namespace in releases[1:]:
        helm("uninstall", name, "--namespace", namespace)
    until(lambda: left_over(control_plane), KEPT)


def owner(control_plane: ControlPlane) -> tuple[str, str]:
    annotations = control_plane.kubectl.get("crd", CRD)["metadata"]["annotations"]
    return annotations["meta.helm.sh/release-name"], annotations["meta.helm.sh/release-namespace"]


def test_a_release_written_by_helm_3_goes_on_with_helm_4(
    control_plane: ControlPlane, restricted: Callable[[], str]
) -> None:
    namespace = restricted()
    place = ("mine", str(CHART), "--namespace", namespace)
    control_plane.helm(3)("install", *place)
    control_plane.helm(4)("upgrade", *place, "--set", "scheduler.replicaCount=3")
    until(lambda: replicas(control_plane, namespace)["mine-pilotage-scheduler"], 3)
    control_plane.helm(4)("uninstall", "mine", "--namespace", namespace)


def test_a_failure_shows_the_answer_and_the_logs(control_plane: ControlPlane, namespace: str) -> None:
    with pytest.raises(CommandFailed) as failure:
        control_plane.kubectl("get", "pod", "nobody", "-n", namespace)
    assert 'pods "nobody" not found' in str(failure.value)
    assert "--- the cluster logged\n" in str(failure.value)
    assert "kube-apiserver:" in str(failure.value)
