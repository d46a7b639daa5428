"""Applying what is there already changes nothing: no write, no generation, no event, for people and GitOps tools."""

import json
import os
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kit.control_plane import ControlPlane
from kit.operator_stage import PROFILES, OperatorStage
from localcluster.paths import REPOSITORY

CRDS = sorted((REPOSITORY / "charts/pilotage/files/crds").iterdir())
NAMES = [path.name.removesuffix(".yaml") for path in CRDS]
# How long a profile is applied again and again: PILOTAGE_REAPPLY_SECONDS=600
SECONDS = float(os.environ.get("PILOTAGE_REAPPLY_SECONDS", "30"))
EVERY = 5.0

Manifest = dict[str, Any]
EXTENDER = {
    "urlPrefix": "http://broker.tools:8888",
    "filterVerb": "filter",
    "managedResources": [{"name": "example.com/gpu"}],
    "ignorable": True,
}
PROFILE: Manifest = {
    "plugins": [
        {"name": "Priority", "weight": 10, "args": {"labelKey": "example.com/rank"}, "points": ["filter", "score"]},
        {"name": "ImageLocality", "enabled": False},
        {"name": "NodeAffinity"},
    ],
    "rollout": {"progressDeadlineSeconds": 30},
}
ZONE = {
    "name": "node-0",
    "type": "Node",
    "resources": [{"name": "cpu", "capacity": 4, "allocatable": 4, "available": "2"}],
}
COSTS = [{"origin": "a", "costList": [{"destination": "b", "networkCost": 5}]}]
APP = {"kind": "Deployment", "name": "shop", "selector": "shop", "apiVersion": "apps/v1", "namespace": "default"}
WORKLOADS = [{"workload": APP, "dependencies": [{"workload": APP, "minBandwidth": "100Mi", "maxNetworkCost": 30}]}]
OBJECTS = {
    "SchedulerProfile": ("pilotage.dev/v1alpha1", PROFILE | {"extenders": [EXTENDER]}),
    "an empty SchedulerProfile": ("pilotage.dev/v1alpha1", {}),
    "PodGroup": ("scheduling.x-k8s.io/v1alpha1", {"minResources": {"cpu": 4, "memory": "1Gi"}}),
    "ElasticQuota": (
        "scheduling.x-k8s.io/v1alpha1",
        {
            "min": {"cpu": 1, "memory": "1024Mi"},
            "max": {"cpu": "2.0"},
            "namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "Exists"}]},
        },
    ),
    "AppGroup": (
        "appgroup.diktyo.x-k8s.io/v1alpha1",
        {"numMembers": 1, "topologySortingAlgorithm": "KahnSort", "workloads": WORKLOADS},
    ),
    "NetworkTopology": (
        "networktopology.diktyo.x-k8s.io/v1alpha1",
        {
            "configmapName": "netperf",
            "weights": [{"name": "UserDefined", "topologyList": [{"topologyKey": "zone", "originList": COSTS}]}],
        },
    ),
    "StickyJob": (
        "pilotage.dev/v1alpha1",
        {
            "template": {
                "spec": {"containers": [{"name": "main", "image": "busybox", "ports": [{"containerPort": 80}]}]}
            }
        },
    ),
}
KINDS = [*OBJECTS, "NodeResourceTopology"]


@pytest.fixture(scope="module", autouse=True)
def served(control_plane: ControlPlane) -> Iterator[None]:
    """All definitions of the chart; removed afterwards with everything of their kinds."""
    kubectl = control_plane.kubectl
    kubectl("apply", "--server-side", "--force-conflicts", *(f"--filename={path}" for path in CRDS))
    kubectl.until_established(*(f"crd/{name}" for name in NAMES))
    yield
    kubectl.delete_definitions(*NAMES)


def manifest(kind: str, namespace: str) -> Manifest:
    name = f"same-{uuid.uuid4().hex[:8]}"
    if kind == "NodeResourceTopology":  # it has no spec
        return {
            "apiVersion": "topology.node.k8s.io/v1alpha2",
            "kind": kind,
            "metadata": {"name": name},
            "topologyPolicies": ["SingleNUMANodeContainerLevel"],
            "zones": [ZONE],
        }
    api, spec = OBJECTS[kind]
    kind = kind.rpartition(" ")[2]
    here = {} if kind == "SchedulerProfile" else {"namespace": namespace}
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name} | here, "spec": spec}


@pytest.mark.parametrize(
    ("kind", "way"),
    [
        *((kind, "client") for kind in KINDS),
        (KINDS[0], "server"),
        *(pytest.param(kind, "server", marks=pytest.mark.full) for kind in KINDS[1:]),
    ],
)
def test_what_is_applied_again_is_unchanged(control_plane: ControlPlane, namespace: str, kind: str, way: str) -> None:
    kubectl, wanted = control_plane.kubectl, json.dumps(manifest(kind, namespace))
    flags = ["--server-side"] if way == "server" else []
    apply = ("apply", "--validate=strict", *flags, "-f", "-")
    kubectl(*apply, stdin=wanted)
    try:
        before = stored(control_plane, wanted)
        said = kubectl(*apply, stdin=wanted)
        assert way == "server" or said.endswith(" unchanged\n"), said
        differs = kubectl.attempt("diff", *flags, "-f", "-", stdin=wanted)
        assert (differs.returncode, differs.stdout) == (0, "")
        assert stored(control_plane, wanted)["metadata"] == before["metadata"]
    finally:
        kubectl("delete", "-f", "-", stdin=wanted)


def stored(control_plane: ControlPlane, wanted: str) -> Manifest:
    found: Manifest = json.loads(
        control_plane.kubectl("get", "-f", "-", "-o", "json", "--show-managed-fields", stdin=wanted)
    )
    return found


@pytest.fixture
def stage(control_plane: ControlPlane, namespace: str, tmp_path: Path) -> Iterator[OperatorStage]:
    built = OperatorStage(control_plane, namespace, tmp_path)
    built.build()
    yield built
    built.clean()


@pytest.mark.full
@pytest.mark.timeout(SECONDS + 300)
@pytest.mark.parametrize("way", ["client", "server"])
def test_a_profile_that_is_applied_every_few_seconds_is_at_rest(
    control_plane: ControlPlane, stage: OperatorStage, way: str
) -> None:
    """As GitOps tools do it: nobody writes anything, to the profile or about it."""
    name, flags = f"same-{uuid.uuid4().hex[:8]}", ["--server-side"] if way == "server" else []
    spec = {"instance": stage.instance, **PROFILE, "rollout": {"progressDeadlineSeconds": 5}}
    wanted = yaml.safe_dump(
        {
            "apiVersion": "pilotage.dev/v1alpha1",
            "kind": "SchedulerProfile",
            "metadata": {"name": name},
            "spec": spec,
        }
    )
    with stage.operator(), stage.playing():
        control_plane.kubectl("apply", *flags, "-f", "-", stdin=wanted)
        stage.until_condition(name, "Ready", "True")
        stage.until(lambda: "lastGood" in stage.status(name), "the trial is over")
        before, log = everything(stage, name), stage.log.stat().st_size
        deadline, times = time.monotonic() + SECONDS, 0
        while time.monotonic() < deadline:
            said = control_plane.kubectl("apply", *flags, "-f", "-", stdin=wanted)
            assert way == "server" or said.endswith(" unchanged\n"), said
            times += 1
            time.sleep(EVERY)
            assert everything(stage, name) == before
        assert stage.log.read_text()[log:] == ""
    print(f"applied {times} times in {SECONDS:.0f} s by the {way}: nothing was written")


def everything(stage: OperatorStage, name: str) -> Manifest:
    """What could have been written: the profile, the configuration, and events about the profile."""
    profile, config_map = stage.admin.get(f"{PROFILES}/{name}"), stage.admin.get(stage.config_map)
    events = stage.admin.get(f"/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3D{name}")["items"]
    return {
        "profile": (profile["metadata"]["resourceVersion"], profile["metadata"]["generation"]),
        "configuration": config_map["metadata"]["resourceVersion"],
        "events": sorted((each["metadata"]["name"], each["metadata"]["resourceVersion"]) for each in events),
    }
