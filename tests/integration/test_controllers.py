"""The controllers on a real API server, with the chart's rights for them, and the definitions that it brings."""

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from kit.control_plane import ControlPlane
from kit.fixtures import Nodes
from kit.operator_stage import OperatorStage
from localcluster.paths import REPOSITORY
from pilotage.testing import node_manifest, pod_manifest

CHART = REPOSITORY / "charts" / "pilotage"
DEFINITIONS = sorted((CHART / "files" / "crds").iterdir())
NAMES = [path.name.removesuffix(".yaml") for path in DEFINITIONS]
RIGHTS = yaml.safe_load((CHART / "files" / "controller-rights.yaml").read_text())
GROUPS, JOBS = "/apis/scheduling.x-k8s.io/v1alpha1", "/apis/pilotage.dev/v1alpha1"
APPS, NETWORKS = "/apis/appgroup.diktyo.x-k8s.io/v1alpha1", "/apis/networktopology.diktyo.x-k8s.io/v1alpha1"
REGION = "topology.kubernetes.io/region"
STATUS = "application/strategic-merge-patch+json"
ALL = "--controllers=all"
COST = {"origin": "a", "costList": [{"destination": "b", "networkCost": 1}]}
WEIGHTS = {"name": "UserDefined", "topologyList": [{"topologyKey": "zone", "originList": [COST]}]}
WORKLOAD = {"kind": "Deployment", "name": "a", "selector": "a"}
OTHER = {"kind": "Deployment", "name": "b", "selector": "b"}
FAR = {"workload": WORKLOAD, "maxNetworkCost": 10001}
TEMPLATE: dict[str, Any] = {"spec": {"schedulerName": "nobody", "containers": [{"name": "main", "image": "x"}]}}


@pytest.fixture(scope="module", autouse=True)
def served(control_plane: ControlPlane) -> Iterator[None]:
    """All definitions of the chart, as their files have them; removed afterwards."""
    kubectl = control_plane.kubectl
    files = [word for path in DEFINITIONS for word in ("-f", str(path))]
    kubectl("apply", "--server-side", "--force-conflicts", *files)
    for name in NAMES:
        kubectl.until_established(f"crd/{name}")
    deadline = time.monotonic() + 60
    # Short names are told a moment after the resource itself is served.
    while any(kubectl.attempt("get", short).returncode for short in ("pg", "eq", "ag", "nt", "node-res-topo", "sj")):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    yield
    kubectl.delete_definitions(*NAMES)


@pytest.fixture
def stage(control_plane: ControlPlane, namespace: str, tmp_path: Path) -> Iterator[OperatorStage]:
    built = OperatorStage(control_plane, namespace, tmp_path)
    built.build(0)
    built.grant("controllers", [rule for rules in RIGHTS.values() for rule in rules])
    yield built
    built.clean()


@pytest.fixture
def node(fake_nodes: Nodes, namespace: str) -> str:
    return fake_nodes(node_manifest(f"{namespace}-n"))[0]


# ------------------------------------------------------------------------------------------------------- definitions


@pytest.mark.parametrize("name", NAMES)
def test_schemas_are_structural_and_names_accepted(control_plane: ControlPlane, name: str) -> None:
    conditions = control_plane.kubectl.get("crd", name)["status"]["conditions"]
    found = {condition["type"]: condition["status"] for condition in conditions}
    assert found.pop("KubernetesAPIApprovalPolicyConformant", "True") == "True"
    assert found == {"NamesAccepted": "True", "Established": "True"}


def group(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup", "spec": spec}


def quota(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "ElasticQuota", "spec": spec}


def job(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "pilotage.dev/v1alpha1", "kind": "StickyJob", "spec": {"template": TEMPLATE} | spec}


def app_group(**spec: Any) -> dict[str, Any]:
    whole = {"numMembers": 1, "topologySortingAlgorithm": "KahnSort", "workloads": [{"workload": WORKLOAD}]}
    return {"apiVersion": "appgroup.diktyo.x-k8s.io/v1alpha1", "kind": "AppGroup", "spec": whole | spec}


def network(**spec: Any) -> dict[str, Any]:
    api = {"apiVersion": "networktopology.diktyo.x-k8s.io/v1alpha1", "kind": "NetworkTopology"}
    return api | {"spec": {"configmapName": "c", "weights": [WEIGHTS]} | spec}


def numa(**fields: Any) -> dict[str, Any]:
    return {"apiVersion": "topology.node.k8s.io/v1alpha2", "kind": "NodeResourceTopology"} | fields


AMOUNTS = {"name": "cpu", "capacity": 4, "allocatable": "3800m", "available": "1"}
GOOD = [
    pytest.param({"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup"}, id="a PodGroup that says nothing"),
    pytest.param(
        group(minMember=3, minResources={"cpu": 4, "memory": "8Gi"}, scheduleTimeoutSeconds=-1), id="a PodGroup"
    ),
    pytest.param(quota(min={"cpu": "500m"}, max={"cpu": 1, "gpu": 0}), id="a quota of a half and one"),
    pytest.param(quota(min={"memory": "1024Mi"}, max={"memory": "1Gi"}), id="bounds that are equal"),
    pytest.param(quota(min={"gpu": 4}, max={"cpu": 1}), id="bounds of different resources"),
    pytest.param(quota(min={"cpu": 1}), id="a quota without max"),
    pytest.param(
        quota(max={f"example.com/r{n}": "1" for n in range(64)}, min={f"example.com/r{n}": "1" for n in range(64)}),
        id="a quota as large as it may be",
    ),
    pytest.param(quota(namespaceSelector={"matchLabels": {"team": "a"}}), id="a quota of several namespaces"),
    pytest.param(app_group(), id="an AppGroup"),
    pytest.param(network(), id="a NetworkTopology"),
    pytest.param(job(), id="a StickyJob"),
    pytest.param(numa(zones=[{"name": "node-0", "type": "Node", "resources": [AMOUNTS]}]), id="a NodeResourceTopology"),
]
BAD = [
    pytest.param(group(minMember=0), "spec.minMember", "greater than or equal to 1", id="a group of nobody"),
    pytest.param(group(minResources={"cpu": "many"}), "spec.minResources.cpu", "should match", id="no quantity"),
    pytest.param(quota(min={"cpu": 2}, max={"cpu": "1500m"}), "spec", "min must not exceed max", id="min over max"),
    pytest.param(quota(min={"memory": "2Gi"}, max={"memory": "2G"}), "spec", "min must not exceed max", id="Gi and G"),
    pytest.param(app_group(numMembers=0), "spec.numMembers", "greater than or equal to 1", id="an empty AppGroup"),
    pytest.param(
        app_group(workloads=[{"workload": WORKLOAD, "dependencies": [FAR]}]),
        "maxNetworkCost",
        "less than or equal to 10000",
        id="a cost that is too high",
    ),
    pytest.param(network(weights=[WEIGHTS, WEIGHTS]), "spec.weights[1]", "Duplicate", id="two sets of one name"),
    pytest.param(job(template={"spec": {}}), "spec.template.spec.containers", "Required", id="no containers"),
    pytest.param(job(template={"spec": {"containers": []}}), "containers", "at least 1", id="a job with no container"),
    pytest.param(
        numa(zones=[{"name": "n", "type": "Node", "resources": [{"name": "x"}]}]), "capacity", "Required", id="zone"
    ),
    pytest.param(numa(), "zones", "Required", id="no zones"),
    pytest.param(group() | {"metadata": {"name": "x" * 64}}, "", "at most 63", id="a group that no label can name"),
    pytest.param(job() | {"metadata": {"name": "x" * 64}}, "", "at most 63", id="a job that no label can name"),
]


@pytest.mark.parametrize("manifest", GOOD)
def test_good_resources_are_taken(control_plane: ControlPlane, namespace: str, manifest: dict[str, Any]) -> None:
    words = ("create", "-n", namespace, "--dry-run=server", "--validate=strict", "-f", "-")
    assert "created" in control_plane.kubectl(*words, stdin=json.dumps({"metadata": {"name": "x"}} | manifest))


@pytest.mark.parametrize(("manifest", "where", "why"), BAD)
def test_bad_resources_are_refused(
    control_plane: ControlPlane, namespace: str, manifest: dict[str, Any], where: str, why: str
) -> None:
    words = ("create", "-n", namespace, "--dry-run=server", "--validate=strict", "-f", "-")
    done = control_plane.kubectl.attempt(*words, stdin=json.dumps({"metadata": {"name": "x"}} | manifest))
    assert done.returncode == 1, done.stdout
    assert where in done.stderr
    assert why in done.stderr


def test_defaults(control_plane: ControlPlane, namespace: str) -> None:
    for name, manifest in (("nothing", group()), ("none", {key: group()[key] for key in ("apiVersion", "kind")})):
        control_plane.kubectl.create(manifest | {"metadata": {"name": name, "namespace": namespace}})
        assert control_plane.kubectl.get("pg", name, "-n", namespace)["spec"] == {"minMember": 1}


@pytest.mark.full
@pytest.mark.parametrize("major", [3, 4], ids=["Helm 3", "Helm 4"])
def test_a_definition_of_somebody_else_is_left_alone(control_plane: ControlPlane, namespace: str, major: int) -> None:
    """Nobody of Helm's made them here: the release installs, uses them, and leaves them when it goes."""
    place = (
        "mine",
        str(CHART),
        "--namespace",
        namespace,
        "--set",
        "operator.replicaCount=0",
        "--set",
        "scheduler.replicaCount=0",
    )
    helm = control_plane.helm(major)
    helm("install", *place)
    helm("upgrade", *place, "--set", "crds.keep=false")
    assert "CustomResourceDefinition" not in helm("get", "manifest", "mine", "--namespace", namespace)
    helm("uninstall", "mine", "--namespace", namespace)
    for name in NAMES:
        assert (
            "annotations" not in control_plane.kubectl.get("crd", name)["metadata"]
            or "meta.helm.sh/release-name" not in (control_plane.kubectl.get("crd", name)["metadata"]["annotations"])
        )


# ------------------------------------------------------------------------------------------------------- controllers


def status(stage: OperatorStage, root: str, plural: str, name: str) -> dict[str, Any]:
    found = stage.admin.find(f"{root}/namespaces/{stage.namespace}/{plural}/{name}") or {}
    return dict(found.get("status", {}))


def until_phase(stage: OperatorStage, kind: str, phase: str) -> dict[str, Any]:
    place = (GROUPS, "podgroups", "g") if kind == "pg" else (JOBS, "stickyjobs", "j")
    stage.until(lambda: status(stage, *place).get("phase") == phase, f"{kind} {phase}, not {status(stage, *place)}")
    return status(stage, *place)


def pod(stage: OperatorStage, name: str) -> str:
    return f"/api/v1/namespaces/{stage.namespace}/pods/{name}"


def bind(stage: OperatorStage, name: str, node: str) -> None:
    """What a scheduler does; kwok says then that the pod runs."""
    target = {"apiVersion": "v1", "kind": "Node", "name": node}
    stage.admin.post(f"{pod(stage, name)}/binding", {"metadata": {"name": name}, "target": target})


def uid(stage: OperatorStage, name: str) -> str:
    found = stage.admin.find(pod(stage, name))
    return str(found["metadata"]["uid"]) if found and "deletionTimestamp" not in found["metadata"] else ""


def reasons(stage: OperatorStage, name: str) -> list[str]:
    events = stage.admin.get(f"/apis/events.k8s.io/v1/namespaces/{stage.namespace}/events")["items"]
    found = [
        event for event in events if event["regarding"]["name"] == name and "Controller" in event["reportingController"]
    ]
    return [event["reason"] for event in sorted(found, key=lambda event: event["eventTime"])]


def test_the_phases_of_a_group(stage: OperatorStage, node: str) -> None:
    labels = {"scheduling.x-k8s.io/pod-group": "g"}
    with stage.operator(ALL):
        stage.kubectl.create(group(minMember=2) | {"metadata": {"name": "g", "namespace": stage.namespace}})
        until_phase(stage, "pg", "Pending")
        for name in ("a", "b"):
            stage.kubectl.create(pod_manifest(name, namespace=stage.namespace, scheduler="nobody", labels=labels))
        assert until_phase(stage, "pg", "Scheduling")["pending"] == 2
        told = {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": "0/1 nodes are available",
        }
        stage.admin.patch(f"{pod(stage, 'b')}/status", {"status": {"conditions": [told]}}, STATUS)
        stage.until(lambda: "pod b: 0/1 nodes" in str(status(stage, GROUPS, "podgroups", "g")), "why it waits")
        for name in ("a", "b"):
            bind(stage, name, node)
        found = until_phase(stage, "pg", "Running")
        assert (found["scheduled"], found["running"], found["pending"]) == (2, 2, 0)
        stage.kubectl("wait", "-n", stage.namespace, "--for=condition=Scheduled", "pg/g", "--timeout=10s")
        stage.admin.patch(f"{pod(stage, 'b')}/status", {"status": {"phase": "Failed"}}, STATUS)
        until_phase(stage, "pg", "Failed")
        stage.admin.delete(pod(stage, "b"), gracePeriodSeconds=0)
        stage.kubectl.create(pod_manifest("c", namespace=stage.namespace, scheduler="nobody", labels=labels))
        until_phase(stage, "pg", "Scheduling")
        bind(stage, "c", node)
        until_phase(stage, "pg", "Running")
    assert reasons(stage, "g")[:3] == ["Scheduling", "Running", "Failed"]
    head, line = stage.kubectl("get", "pg", "g", "-n", stage.namespace).splitlines()
    assert head.split() == ["NAME", "PHASE", "MINMEMBER", "SCHEDULED", "RUNNING", "SUCCEEDED", "FAILED", "AGE"]
    assert line.split()[:7] == ["g", "Running", "2", "2", "2", "0", "0"]


@pytest.mark.full
@pytest.mark.timeout(300)
def test_the_pods_of_a_group_start_again_together(stage: OperatorStage, node: str) -> None:
    """One of three fails: the others go, their owner makes three anew, and the one that failed does no more harm."""
    labels = {"scheduling.x-k8s.io/pod-group": "g"}
    owner = {  # no Job: kwok says at once of its pods that they are done
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "train", "namespace": stage.namespace},
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, **TEMPLATE},
        },
    }
    wish = {
        "pod-group.pilotage.dev/when-a-member-fails": "RestartGroup",
        "pod-group.pilotage.dev/match-policy": "OnceSatisfied",
    }

    def uids() -> dict[str, str]:
        """The pods that have not ended, by name, with their uids; each gets its node."""
        pods = stage.admin.get(f"/api/v1/namespaces/{stage.namespace}/pods")["items"]
        alive = [each for each in pods if "deletionTimestamp" not in each["metadata"]]
        for each in alive:
            if "nodeName" not in each["spec"]:
                bind(stage, each["metadata"]["name"], node)
        alive = [each for each in alive if each["status"]["phase"] in ("Pending", "Running")]
        return {each["metadata"]["name"]: each["metadata"]["uid"] for each in alive}

    def fail(name: str) -> None:
        time.sleep(1.1)  # times are whole seconds
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        ready = {"type": "Ready", "status": "False", "lastTransitionTime": now}
        stage.admin.patch(f"{pod(stage, name)}/status", {"status": {"phase": "Failed", "conditions": [ready]}}, STATUS)

    metadata = {"name": "g", "namespace": stage.namespace, "annotations": wish}
    with stage.operator(ALL):
        stage.kubectl.create(group(minMember=3) | {"metadata": metadata}, owner)
        stage.until(lambda: len(uids()) == 3, "three pods")
        until_phase(stage, "pg", "Running")
        stage.kubectl("wait", "-n", stage.namespace, "--for=condition=QuorumReached", "pg/g", "--timeout=10s")
        first = uids()
        fail(min(first))
        stage.kubectl("wait", "-n", stage.namespace, "--for=condition=QuorumReached=False", "pg/g", "--timeout=60s")
        stage.until(lambda: len(now := uids()) == 3 and not now.keys() & first.keys(), "three others", 120)
        until_phase(stage, "pg", "Running")
        stage.kubectl("wait", "-n", stage.namespace, "--for=condition=QuorumReached", "pg/g", "--timeout=10s")
        second = uids()
        time.sleep(35)  # by now they are old enough to be deleted, too
        assert uids() == second
    told = reasons(stage, "g")
    assert (told.count("MemberFailed"), told.count("RestartingGroup")) == (1, 1)


@pytest.mark.full
def test_what_a_quota_has_used_follows_its_pods(stage: OperatorStage, node: str) -> None:
    def used() -> dict[str, str]:
        return dict(status(stage, GROUPS, "elasticquotas", "q").get("used", {}))

    def until_used(cpu: str, pods: str) -> None:
        stage.until(lambda: used() == {"cpu": cpu, "pods": pods}, f"{cpu} cpu of {pods} pods, not {used()}")

    bounds = quota(min={"cpu": "500m"}, max={"cpu": 2, "pods": 9})
    with stage.operator(ALL):
        stage.kubectl.create(bounds | {"metadata": {"name": "q", "namespace": stage.namespace}})
        until_used("0", "0")
        for name in ("a", "b", "c"):
            stage.kubectl.create(pod_manifest(name, namespace=stage.namespace, scheduler="nobody", cpu="400m"))
        for name in ("a", "b"):
            bind(stage, name, node)
        until_used("800m", "2")
        stage.admin.patch(f"{pod(stage, 'a')}/status", {"status": {"phase": "Succeeded"}}, STATUS)
        until_used("400m", "1")
        bind(stage, "c", node)
        until_used("800m", "2")
        for name in ("b", "c"):
            stage.admin.delete(pod(stage, name), gracePeriodSeconds=0)
        until_used("0", "0")
        younger = bounds | {"metadata": {"name": "younger", "namespace": stage.namespace}}
        time.sleep(1.1)  # of one second the name decides, which comes later, too
        stage.kubectl.create(younger)
        stage.kubectl("wait", "-n", stage.namespace, "--for=condition=Conflict", "eq/younger", "--timeout=60s")
        stage.kubectl("wait", "-n", stage.namespace, "--for=condition=Valid", "eq/q", "--timeout=60s")
    assert set(reasons(stage, "q")) == {"Synced"}
    assert set(reasons(stage, "younger")) == {"Synced", "OlderQuota"}


@pytest.mark.full
def test_the_order_of_an_application(stage: OperatorStage, node: str) -> None:
    def found() -> tuple[int | None, list[tuple[str, int]]]:
        now = status(stage, APPS, "appgroups", "shop")
        order = [(each["workload"]["selector"], each["index"]) for each in now.get("topologyOrder", ())]
        return now.get("runningWorkloads"), order

    def until_found(runs: int, *order: tuple[str, int]) -> None:
        stage.until(lambda: found() == (runs, list(order)), f"{runs} and {order}, not {found()}")

    talks = [{"workload": WORKLOAD, "dependencies": [{"workload": OTHER}]}, {"workload": OTHER}]
    labels = {"appgroup.diktyo.x-k8s.io": "shop", "appgroup.diktyo.x-k8s.io.workload": "a"}
    with stage.operator(ALL):
        manifest = app_group(workloads=talks, numMembers=2)
        stage.kubectl.create(manifest | {"metadata": {"name": "shop", "namespace": stage.namespace}})
        until_found(0, ("a", 1), ("b", 2))
        stage.kubectl.create(pod_manifest("a", namespace=stage.namespace, scheduler="nobody", labels=labels))
        bind(stage, "a", node)
        until_found(1, ("a", 1), ("b", 2))
        turned = [{"workload": WORKLOAD}, {"workload": OTHER, "dependencies": [{"workload": WORKLOAD}]}]
        patch = json.dumps({"spec": {"workloads": turned}})
        stage.kubectl("patch", "ag", "shop", "-n", stage.namespace, "--type=merge", "-p", patch)
        until_found(1, ("a", 2), ("b", 1))
        stage.kubectl("wait", "-n", stage.namespace, "--for=condition=Accepted", "ag/shop", "--timeout=60s")
        stage.admin.delete(pod(stage, "a"), gracePeriodSeconds=0)
        until_found(0, ("a", 2), ("b", 1))


@pytest.mark.full
def test_costs_from_a_config_map(stage: OperatorStage, fake_nodes: Nodes) -> None:
    west, east = fake_nodes(
        *(node_manifest(f"{stage.namespace}-{region}", labels={REGION: region}) for region in ("west", "east"))
    )

    def weights() -> list[dict[str, Any]]:
        topology = stage.admin.get(f"{NETWORKS}/namespaces/{stage.namespace}/networktopologies/nt")
        return list(topology["spec"]["weights"])

    def costs() -> list[tuple[str, str, int]]:
        return [
            (origin["origin"], cost["destination"], cost["networkCost"])
            for each in weights()
            if each["name"] == "NetperfCosts"
            for listed in each["topologyList"]
            for origin in listed["originList"]
            for cost in origin["costList"]
        ]

    wanted = [("east", "west", 20), ("west", "east", 20)]
    place = {"name": "c", "namespace": stage.namespace}
    data = {f"netperf.p90.latency.milliseconds.origin.{west}.destination.{east}": "20"}
    with stage.operator(ALL):
        stage.kubectl.create(network() | {"metadata": {"name": "nt", "namespace": stage.namespace}})
        stage.until(
            lambda: "ConfigMapNotFound" in str(status(stage, NETWORKS, "networktopologies", "nt")), "it is missed"
        )
        stage.kubectl.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": place, "data": data})
        # It is read every few minutes, and at once when somebody touches the topology.
        stage.kubectl(
            "patch", "nt", "nt", "-n", stage.namespace, "--type=merge", "-p", '{"metadata": {"labels": {"a": "b"}}}'
        )
        stage.until(lambda: costs() == wanted, f"{wanted}, not {costs()}")
        stage.kubectl("wait", "-n", stage.namespace, "--for=condition=Calculated", "nt/nt", "--timeout=60s")
    assert weights()[0] == WEIGHTS
    assert status(stage, NETWORKS, "networktopologies", "nt")["nodeCount"] == 2
    assert reasons(stage, "nt") == ["ConfigMapNotFound", "Measured"]


@pytest.mark.full
def test_the_pod_of_a_job_comes_back_whatever_becomes_of_the_operator(stage: OperatorStage, node: str) -> None:
    with stage.operator(ALL) as process:
        stage.kubectl.create(job() | {"metadata": {"name": "j", "namespace": stage.namespace}})
        until_phase(stage, "sj", "Pending")
        first = uid(stage, "j")
        bind(stage, "j", node)
        assert until_phase(stage, "sj", "Running")["lastNode"] == node
        stage.admin.delete(pod(stage, "j"), gracePeriodSeconds=0)
        stage.until(lambda: uid(stage, "j") not in ("", first), "another pod")
        assert until_phase(stage, "sj", "Pending")["restarts"] == 1
        process.kill()
    bind(stage, "j", node)
    stage.kubectl("wait", "-n", stage.namespace, "--for=jsonpath={.status.phase}=Running", "pod/j", "--timeout=30s")
    with stage.operator(ALL):
        until_phase(stage, "sj", "Running")
        second = uid(stage, "j")
    stage.admin.delete(pod(stage, "j"), gracePeriodSeconds=0)
    with stage.operator(ALL):
        stage.until(lambda: uid(stage, "j") not in ("", second), "a third pod")
        assert until_phase(stage, "sj", "Pending")["restarts"] == 2
        owner = stage.admin.get(pod(stage, "j"))["metadata"]["ownerReferences"][0]
        assert (owner["kind"], owner["name"], owner["controller"]) == ("StickyJob", "j", True)
        stage.kubectl("patch", "sj", "j", "-n", stage.namespace, "--type=merge", "-p", '{"spec": {"suspend": true}}')
        until_phase(stage, "sj", "Suspended")
        stage.until(lambda: not stage.admin.find(pod(stage, "j")), "no pod")
        stage.kubectl("patch", "sj", "j", "-n", stage.namespace, "--type=merge", "-p", '{"spec": {"suspend": false}}')
        until_phase(stage, "sj", "Pending")
        assert status(stage, JOBS, "stickyjobs", "j")["lastNode"] == node
    stage.kubectl("delete", "sj", "j", "-n", stage.namespace)
    stage.kubectl("wait", "-n", stage.namespace, "--for=delete", "pod/j", "--timeout=60s")


@pytest.mark.full
def test_a_pod_that_is_refused_says_why(stage: OperatorStage) -> None:
    template = {"spec": {"containers": [{"name": "NOT a name", "image": "x"}]}}
    with stage.operator(ALL, faultless=False):
        stage.kubectl.create(job(template=template) | {"metadata": {"name": "j", "namespace": stage.namespace}})
        stage.until(lambda: "spec.containers[0].name" in str(status(stage, JOBS, "stickyjobs", "j")), "why")
        patch = json.dumps({"spec": {"template": TEMPLATE}})
        stage.kubectl("patch", "sj", "j", "-n", stage.namespace, "--type=merge", "-p", patch)
        until_phase(stage, "sj", "Pending")


@pytest.mark.full
def test_an_event_in_a_namespace_that_is_being_deleted_is_no_warning(stage: OperatorStage) -> None:
    ends, kubectl = f"{stage.namespace}-ends", stage.kubectl
    kubectl("create", "namespace", ends)
    metadata = {"name": "nt", "namespace": ends, "finalizers": ["example.com/stays"]}
    kubectl.create(network() | {"metadata": metadata})
    kubectl("delete", "namespace", ends, "--wait=false")
    with stage.operator(ALL, "--verbose"):
        stage.until(lambda: "no event ConfigMapNotFound on nt" in stage.log.read_text(), "the event is refused")
    assert [line for line in stage.log.read_text().splitlines() if line.startswith("W") and ends in line] == []
    kubectl("patch", "nt", "nt", "-n", ends, "--type=merge", "-p", '{"metadata": {"finalizers": null}}')


@pytest.mark.full
def test_a_definition_that_comes_later_is_noticed(control_plane: ControlPlane, stage: OperatorStage) -> None:
    name = "podgroups.scheduling.x-k8s.io"
    kubectl = control_plane.kubectl
    kubectl("delete", "crd", name, "--timeout=60s")
    with stage.operator(ALL, faultless=False):
        stage.kubectl.create(job() | {"metadata": {"name": "j", "namespace": stage.namespace}})
        until_phase(stage, "sj", "Pending")
        kubectl("apply", "--server-side", "-f", str(CHART / "files" / "crds" / f"{name}.yaml"))
        kubectl.until_established(f"crd/{name}")
        manifest = group() | {"metadata": {"name": "g", "namespace": stage.namespace}}
        stage.until(lambda: _created(control_plane, manifest), "it is served")
        until_phase(stage, "pg", "Pending")


def _created(control_plane: ControlPlane, manifest: dict[str, Any]) -> bool:
    return control_plane.kubectl.attempt("create", "-f", "-", stdin=json.dumps(manifest)).returncode == 0
