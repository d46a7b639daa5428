"""`helm test` is green when the policy is: with both Helms, the accounts of the chart and the real programs."""

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from kit.control_plane import ControlPlane
from kit.fixtures import Nodes
from kit.helm_test import helm_test
from kit.release import TO_HOME_NODES, Release, home_nodes
from localcluster.paths import REPOSITORY

CRDS = [path.name.removesuffix(".yaml") for path in (REPOSITORY / "charts/pilotage/files/crds").iterdir()]
SCHEDULER = "placed"
VALUES: dict[str, Any] = {
    "scheduler": {"name": SCHEDULER, "replicaCount": 1, **TO_HOME_NODES},
    "operator": TO_HOME_NODES,
    "controller": {"kinds": []},
    "profiles": [{"name": "second", "spec": {"plugins": [{"name": "ImageLocality", "enabled": False}]}}],
    "test": {"timeoutSeconds": 30},
}


@pytest.fixture
def homes(control_plane: ControlPlane, namespace: str, fake_nodes: Nodes) -> Iterator[None]:
    """Nodes for the pods of releases, placed by the stock kube-scheduler; restricted Pod Security in the namespace."""
    control_plane.kubectl("label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted")
    fake_nodes(*home_nodes(namespace))
    with control_plane.kube_scheduler():
        yield
    control_plane.kubectl.delete_definitions(*CRDS)


@contextmanager
def running(release: Release, values: dict[str, Any]) -> Iterator[str]:
    """Install a release and run its programs; gives the notes of the installation."""
    with ExitStack() as stack:
        notes = release.install(values=values)
        stack.callback(release.helm, "uninstall", release.name, "--namespace", release.namespace)
        stack.enter_context(release.processes("operator"))
        stack.enter_context(release.processes("scheduler"))
        yield notes


def ready(release: Release, name: str) -> tuple[str, str]:
    found = release.kubectl.attempt("get", "schedprof", name, "-o", "json")
    profile = json.loads(found.stdout) if not found.returncode else {}
    for each in profile.get("status", {}).get("conditions", ()):
        if each["type"] == "Ready" and each["observedGeneration"] == profile["metadata"]["generation"]:
            return each["status"], each["reason"]
    return "", ""


def left(release: Release) -> list[str]:
    """What a test has left in the cluster, but for the pod itself."""
    kinds = "serviceaccounts,roles,rolebindings,replicasets"
    here = release.kubectl("get", kinds, "-n", release.namespace, "-o", "name")
    across = release.kubectl("get", "clusterroles,clusterrolebindings", "-o", "name")
    return [name for name in (here + across).split() if re.search(r"-test(-\d+|\.|$)", name)]


@pytest.mark.parametrize("major", [pytest.param(3, id="Helm 3", marks=pytest.mark.full), pytest.param(4, id="Helm 4")])
def test_it_is_green_only_while_the_profiles_are_ready(
    control_plane: ControlPlane, namespace: str, homes: None, tmp_path: Path, major: int
) -> None:
    release = Release(control_plane, namespace, "one", tmp_path, major)
    with running(release, VALUES) as notes:
        assert "WARNING" not in notes
        # 1. Nobody has to wait for the profiles before: the test does.
        green = helm_test(release, "one-pilotage", tmp_path)
        assert green.code == 0, green.said
        assert f"ok: profile {SCHEDULER} is Ready at generation 1: all replicas run it" in green.said
        assert re.search(
            rf"ok: pod \S+ of scheduler {SCHEDULER} was placed on \S+ by one-pilotage-scheduler-", green.said
        )
        assert re.search(r"ok: pod \S+ of scheduler second was placed on \S+ by one-pilotage-scheduler-", green.said)
        assert left(release) == []

        # 2. A profile that this release serves, and that somebody edits to what cannot run.
        bad = {"spec": {"plugins": [{"name": "ImageLocalty"}]}}
        release.kubectl("patch", "schedprof", "second", "--type=merge", "-p", json.dumps(bad))
        red = helm_test(release, "one-pilotage", tmp_path)
        assert red.code != 0
        assert "FAILED: profile second, generation 2: Ready=False, NotAccepted: UnknownPlugin: spec.plugins" in red.said
        assert "did you mean 'ImageLocality'?" in red.said
        assert "    fix: Correct the name as the message suggests" in red.said
        assert left(release) == []

        # 3. It heals.
        release.kubectl("patch", "schedprof", "second", "--type=merge", "-p", '{"spec": {"plugins": []}}')
        release.until(lambda: ready(release, "second") == ("True", "Acknowledged"), "it is Ready again")
        assert helm_test(release, "one-pilotage", tmp_path).code == 0


@pytest.mark.full
def test_it_is_red_when_somebody_else_places_the_pods(
    control_plane: ControlPlane, namespace: str, homes: None, tmp_path: Path
) -> None:
    """Another scheduler has the name, too; our profile is Ready all the while."""
    release = Release(control_plane, namespace, "one", tmp_path, 4)
    configuration = tmp_path / "other.yaml"
    document = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    configuration.write_text(yaml.safe_dump(document | {"profiles": [{"schedulerName": SCHEDULER}]}))
    release.install(values=VALUES | {"profiles": []})
    try:
        with release.processes("operator"):
            with release.processes("scheduler"):
                release.until(lambda: ready(release, SCHEDULER)[0] == "True", "it is Ready")
            with control_plane.pilotage(f"--config={configuration}"):
                red = helm_test(release, "one-pilotage", tmp_path)
        assert red.code != 0
        assert f"ok: profile {SCHEDULER} is Ready" in red.said
        assert re.search(
            r"FAILED: pod \S+ of scheduler placed was placed on \S+ by placed-\S+, which is not a replica", red.said
        )
    finally:
        release.helm("uninstall", release.name, "--namespace", namespace)


@pytest.mark.full
def test_a_second_release_whose_name_is_taken_says_so(
    control_plane: ControlPlane, namespace: str, homes: None, tmp_path: Path
) -> None:
    first, second = (Release(control_plane, namespace, name, tmp_path, 4) for name in ("one", "two"))
    values = VALUES | {"profiles": []}
    name = f"{SCHEDULER}.{namespace}.two"
    with running(first, values):
        first.until(lambda: ready(first, SCHEDULER)[0] == "True", "the first is Ready")
        with running(second, values) as notes:
            taken = (
                f"schedulerName {SCHEDULER} is taken: the profile {SCHEDULER} of the release {namespace}/one serves it"
            )
            assert taken in notes
            red = helm_test(second, "two-pilotage", tmp_path)
            assert red.code != 0
            assert f"profile {name}, generation 1: Ready=False, NotAccepted: DuplicateSchedulerName: " in red.said
            shown = control_plane.kubectl("get", "schedprof", "-o", "wide")
            line = next(line for line in shown.splitlines() if line.startswith(f"{name} "))
            assert re.search(r" False +NotAccepted .*of the release .*one; choose another", line)
            assert helm_test(first, "one-pilotage", tmp_path).code == 0
            # The first goes, and the second serves the name from now on, under its own.
            first.helm("uninstall", "one", "--namespace", namespace)
            second.until(lambda: ready(second, SCHEDULER)[0] == "True", "the second has the name")
            assert helm_test(second, "two-pilotage", tmp_path).code == 0
        first.install(values=values)
