"""What a plugin needs is missing or malformed: who is concerned is told what to do, and all others are scheduled.

The chart is installed without the rights of CapacityScheduling and without the definition of NodeResourceTopology; that
of AppGroup is somebody else's, and lets everything pass.
"""

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kit.control_plane import ControlPlane
from kit.fixtures import Nodes
from kit.plugin_ground import PROFILES, PluginGround, plugin_ground
from kit.release import home_nodes
from kit.stage import Stage
from localcluster.paths import REPOSITORY
from pilotage.testing import node_manifest

GROUPS = "/apis/scheduling.x-k8s.io/v1alpha1"
APPS = "/apis/appgroup.diktyo.x-k8s.io/v1alpha1"
IN_GROUP, IN_APP, AS_PART = (
    "scheduling.x-k8s.io/pod-group",
    "appgroup.diktyo.x-k8s.io",
    "appgroup.diktyo.x-k8s.io.workload",
)
WEB_OF_SHOP = {IN_APP: "shop", AS_PART: "web"}
NO_LIST = "cannot be decoded: Expected `array`, got `str` - at `$.spec.workloads`"
BYSTANDER = "bystander"
RIGHTS = REPOSITORY / "charts" / "pilotage" / "files" / "plugin-rights.yaml"
VALUES: dict[str, Any] = {
    "crds": {"keep": False},
    "rbac": {"plugins": sorted(set(yaml.safe_load(RIGHTS.read_text())) - {"CapacityScheduling"})},
    "profiles": [{"name": BYSTANDER}],
}
ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
LAX_APP_GROUPS: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {
        "name": "appgroups.appgroup.diktyo.x-k8s.io",
        "annotations": {"api-approved.kubernetes.io": "unapproved, experimental-only"},
    },
    "spec": {
        "group": "appgroup.diktyo.x-k8s.io",
        "scope": "Namespaced",
        "names": {"kind": "AppGroup", "plural": "appgroups", "singular": "appgroup"},
        "versions": [
            {"name": "v1alpha1", "served": True, "storage": True, "schema": {"openAPIV3Schema": ANYTHING}},
        ],
    },
}


@pytest.fixture(scope="module")
def ground(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PluginGround]:
    """A release with a second profile, to which nothing is done."""
    kubectl, namespace = control_plane.kubectl, f"test-{uuid.uuid4().hex[:10]}"
    definition = f"crd/{LAX_APP_GROUPS['metadata']['name']}"
    kubectl("create", "namespace", namespace)
    kubectl("delete", definition, "--ignore-not-found", "--timeout=60s")
    kubectl.create(LAX_APP_GROUPS)
    kubectl.until_established(definition)
    homes = home_nodes(namespace)
    control_plane.fake_nodes(homes)
    with plugin_ground(control_plane, namespace, tmp_path_factory.mktemp("troubles"), VALUES) as found:
        found.until(lambda: found.condition("Ready", BYSTANDER)[0] == "True", "the bystander is Ready")
        yield found
    kubectl("delete", definition, "--ignore-not-found")
    kubectl("delete", "node", *(home["metadata"]["name"] for home in homes), "--wait=false")
    kubectl("delete", "namespace", namespace, "--wait=false")


@pytest.fixture
def stage(ground: PluginGround, namespace: str, fake_nodes: Nodes) -> Iterator[Stage]:
    """A namespace, and a node of two cores; afterwards the profile is as it was, and nothing has ended."""
    fake_nodes(node_manifest(f"{namespace}-node", cpu=2))
    yield Stage(ground.admin, namespace)
    ground.switch()
    assert all(process.program.poll() is None for process in ground.processes)
    assert not any("Traceback" in process.said for process in ground.processes)


def shop(spec: Any) -> dict[str, Any]:
    """Return an application."""
    api = {"apiVersion": "appgroup.diktyo.x-k8s.io/v1alpha1", "kind": "AppGroup"}
    return {**api, "metadata": {"name": "shop"}, "spec": spec}


def message(stage: Stage, name: str) -> str:
    """Return why a pod has no node."""
    conditions = (stage.pod(name) or {}).get("status", {}).get("conditions", ())
    return next((str(each.get("message", "")) for each in conditions if each["type"] == "PodScheduled"), "")


def until_told(ground: PluginGround, stage: Stage, name: str, words: str) -> None:
    """Wait until a pod says why it has no node."""
    try:
        ground.until(lambda: words in message(stage, name), f"{name} says {words!r}")
    except AssertionError as error:
        raise AssertionError(f"{name} says {message(stage, name)!r}, not {words!r}\n{error}") from None
    assert stage.node_of(name) is None


def others_are_bound(stage: Stage, *schedulers: str) -> None:
    """Create a pod for each scheduler, and wait until it has a node."""
    for scheduler in schedulers:
        stage.create(f"plain-{scheduler}", scheduler=scheduler, cpu="10m")
        stage.until(lambda name=f"plain-{scheduler}": stage.node_of(name), "it is bound", 60)  # type: ignore[misc]


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("entry", "reason", "words"),
    [
        pytest.param(
            {"name": "SySched"},
            "MissingCRD",
            "SySched needs seccompprofiles.security-profiles-operator.x-k8s.io, which the cluster does not serve; "
            "install the CustomResourceDefinition seccompprofiles.security-profiles-operator.x-k8s.io, or disable",
            id="a definition that is missing",
        ),
        pytest.param(
            {"name": "CapacityScheduling"},
            "MissingPermission",
            "CapacityScheduling requires list, watch on elasticquotas.scheduling.x-k8s.io, which system:service",
            id="a right that is missing",
        ),
        pytest.param(
            {"name": "TargetLoadPacking"},
            "MissingCRD",
            "TargetLoadPacking needs nodes.metrics.k8s.io, which the cluster does not serve; install metrics-server, ",
            id="a metrics API that is missing",
            marks=pytest.mark.full,
        ),
    ],
)
def test_a_profile_that_lacks_something_says_what_and_all_pods_go_on(
    ground: PluginGround, stage: Stage, entry: dict[str, Any], reason: str, words: str
) -> None:
    ground.ask_for(entry)
    ground.until(lambda: ground.condition("Accepted")[0] == "False", "it is refused")
    assert ground.condition("Accepted")[1] == reason
    assert words in ground.condition("Accepted")[2]
    assert ground.condition("Ready", BYSTANDER)[0] == "True"
    others_are_bound(stage, ground.scheduler, BYSTANDER)


@pytest.mark.full
@pytest.mark.timeout(300)
def test_without_figures_pods_are_placed_by_the_other_plugins_and_the_log_tells(
    ground: PluginGround, stage: Stage
) -> None:
    source = f"{ground.watcher.address}/nobody"
    ground.switch({"name": "TargetLoadPacking", "weight": 100, "args": {"watcherAddress": source}})
    others_are_bound(stage, ground.scheduler, BYSTANDER)
    said = f"load metrics of {source}: no node has figures, so all nodes are scored equally"
    ground.until(lambda: any(said in process.said for process in ground.processes), "the log tells")


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("spec", "words"),
    [
        pytest.param({"workloads": "all of them"}, NO_LIST, id="workloads that are no list"),
        pytest.param(
            {"workloads": [{"workload": 7}]},
            "cannot be decoded: Expected `object`, got `int` - at `$.spec.workloads[0].workload`",
            id="a workload that is a number",
            marks=pytest.mark.full,
        ),
        pytest.param(None, "not found in namespace", id="no AppGroup at all", marks=pytest.mark.full),
    ],
)
def test_pods_of_a_malformed_app_group_wait_and_say_why(
    ground: PluginGround, stage: Stage, spec: Any, words: str
) -> None:
    if spec is not None:
        stage.create_other(APPS, "appgroups", shop(spec))
    ground.switch({"name": "NetworkOverhead"})
    stage.create("web", scheduler=ground.scheduler, labels=WEB_OF_SHOP)
    until_told(ground, stage, "web", words)
    assert 'AppGroup "shop" ' in message(stage, "web")
    if spec is not None:
        said = f"appgroups.appgroup.diktyo.x-k8s.io {stage.namespace}/shop {words}"
        ground.until(lambda: any(said in process.said for process in ground.processes), "the log says why")
    others_are_bound(stage, ground.scheduler, BYSTANDER)


@pytest.mark.timeout(300)
def test_an_app_group_counts_as_it_is_now_when_it_is_spoiled_repaired_or_deleted(
    ground: PluginGround, stage: Stage
) -> None:
    path = f"{APPS}/namespaces/{stage.namespace}/appgroups/shop"
    stage.create_other(APPS, "appgroups", shop({}))
    ground.switch({"name": "NetworkOverhead"})
    stage.create("first", scheduler=ground.scheduler, labels=WEB_OF_SHOP)
    stage.until(lambda: stage.node_of("first"), "it is bound", 60)
    ground.admin.patch(path, {"spec": {"workloads": "all of them"}})
    stage.create("second", scheduler=ground.scheduler, labels=WEB_OF_SHOP)
    until_told(ground, stage, "second", NO_LIST)
    ground.admin.delete(path)
    until_told(ground, stage, "second", "not found in namespace")
    stage.create_other(APPS, "appgroups", shop({"workloads": "all of them"}))
    until_told(ground, stage, "second", NO_LIST)
    ground.admin.patch(path, {"spec": {"workloads": []}})
    stage.until(lambda: stage.node_of("second"), "it is bound", 60)


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({}, id="an AppGroup that says nothing", marks=pytest.mark.full),
        pytest.param(
            {
                "workloads": [
                    {"workload": {"selector": one}, "dependencies": [{"workload": {"selector": other}}]}
                    for one, other in (("web", "store"), ("store", "web"))
                ]
            },
            id="parts that need each other",
            marks=pytest.mark.full,
        ),
        pytest.param(
            {"workloads": [{"workload": {"selector": "other"}}]},
            id="a part that it does not have",
            marks=pytest.mark.full,
        ),
    ],
)
def test_an_app_group_that_says_nothing_useful_holds_nobody(ground: PluginGround, stage: Stage, spec: Any) -> None:
    stage.create_other(APPS, "appgroups", shop(spec))
    ground.switch({"name": "NetworkOverhead"})
    stage.create("web", scheduler=ground.scheduler, labels=WEB_OF_SHOP)
    stage.until(lambda: stage.node_of("web"), "it is bound", 60)
    others_are_bound(stage, ground.scheduler, BYSTANDER)


def group(stage: Stage, name: str, minimum: int) -> dict[str, Any]:
    api = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup"}
    return {**api, "metadata": {"name": name, "namespace": stage.namespace}, "spec": {"minMember": minimum}}


def test_a_group_of_nobody_is_refused(ground: PluginGround, stage: Stage) -> None:
    done = ground.release.kubectl.attempt("create", "-f", "-", stdin=json.dumps(group(stage, "nobody", 0)))
    assert "spec.minMember: Invalid value: 0" in done.stderr
    assert "greater than or equal to 1" in done.stderr


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("pods", "words", "reason"),
    [
        pytest.param(2, "cannot find enough sibling pods, current pods number: 2, minMember of group: 3",
                     "NotEnoughMembers", id="more than there are pods", marks=pytest.mark.full),
        pytest.param(3, "the 3 pods that are needed at once do not all fit, this one does not: 0/3 nodes are available",
                     "Unschedulable", id="more than the cluster can hold", marks=pytest.mark.full),
    ],
)  # fmt: skip
def test_a_group_that_is_too_large_says_so_in_its_pods_and_in_its_status(
    ground: PluginGround, stage: Stage, pods: int, words: str, reason: str
) -> None:
    # The bystander sorts the queue by priority, and there is one queue.
    ground.switch({"name": "Coscheduling"}, {"name": "PrioritySort"})
    stage.create_other(GROUPS, "podgroups", group(stage, "large", 3))
    names = [f"train-{number}" for number in range(pods)]
    for name in names:
        stage.create(name, scheduler=ground.scheduler, cpu="900m", labels={IN_GROUP: "large"})
    for name in names:
        until_told(ground, stage, name, words)

    def told() -> tuple[str, str]:
        status = ground.admin.get(f"{GROUPS}/namespaces/{stage.namespace}/podgroups/large").get("status", {})
        found = {each["type"]: each for each in status.get("conditions", ())}.get("Scheduled", {})
        return found.get("status", ""), found.get("reason", "")

    ground.until(lambda: told() == ("False", reason), f"the status says {reason}")
    others_are_bound(stage, ground.scheduler, BYSTANDER)


@pytest.mark.full
@pytest.mark.timeout(300)
def test_a_scheduler_that_may_not_list_groups_runs_and_says_so(
    ground: PluginGround, stage: Stage, control_plane: ControlPlane, tmp_path: Path
) -> None:
    """Nobody judges a configuration that comes without the operator; the account is that of kube-scheduler."""
    profile = {"schedulerName": stage.namespace, "plugins": {"multiPoint": {"enabled": [{"name": "Coscheduling"}]}}}
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    file = tmp_path / "config.yaml"
    file.write_text(yaml.safe_dump({**head, "profiles": [profile]}))
    stage.create_other(GROUPS, "podgroups", group(stage, "one", 1))
    with control_plane.pilotage(f"--config={file}") as running:
        stage.create("train", scheduler=stage.namespace, labels={IN_GROUP: "one"})
        until_told(ground, stage, "train", f"PodGroup not found: {stage.namespace}/one")
        assert "may list podgroups.scheduling.x-k8s.io" in message(stage, "train")
        others_are_bound(stage, stage.namespace, BYSTANDER)
        assert running.process.poll() is None
        said = running.log.read_text()
    assert "podgroups.scheduling.x-k8s.io" in said
    assert "forbidden" in said
    assert PROFILES not in said
