from typing import Any

import pytest
import yaml

from pilotage.testing import Manifest, node_manifest, pod_manifest

CONTAINER = {"name": "main", "image": "localhost/pause:1"}


def pod_with(**spec: Any) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "pod", "namespace": "default"},
        "spec": {"containers": [CONTAINER], **spec},
    }


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        pytest.param(pod_manifest(), pod_with(), id="a pod nobody described has a name and a container"),
        pytest.param(
            pod_manifest(scheduler="batch"),
            pod_with(schedulerName="batch"),
            id="a scheduler is named",
        ),
        pytest.param(
            pod_manifest(cpu=2, memory="1Gi"),
            pod_with(containers=[{**CONTAINER, "resources": {"requests": {"cpu": "2", "memory": "1Gi"}}}]),
            id="cpu and memory are requests, written as text",
        ),
        pytest.param(
            pod_manifest(cpu="1", requests={"example.com/gpu": 1}),
            pod_with(containers=[{**CONTAINER, "resources": {"requests": {"cpu": "1", "example.com/gpu": "1"}}}]),
            id="other requests join cpu and memory",
        ),
        pytest.param(
            pod_manifest(limits={"memory": "2Gi"}),
            pod_with(containers=[{**CONTAINER, "resources": {"limits": {"memory": "2Gi"}}}]),
            id="limits alone add no requests",
        ),
        pytest.param(
            pod_manifest(requests={"cpu": 0}),
            pod_with(containers=[{**CONTAINER, "resources": {"requests": {"cpu": "0"}}}]),
            id="a request of zero is still a request",
        ),
        pytest.param(
            pod_manifest(host_ports=[80, {"hostPort": 53, "protocol": "UDP"}]),
            pod_with(
                containers=[
                    {
                        **CONTAINER,
                        "ports": [
                            {"containerPort": 80, "hostPort": 80},
                            {"containerPort": 53, "hostPort": 53, "protocol": "UDP"},
                        ],
                    }
                ]
            ),
            id="a host port is a number or a whole port",
        ),
        pytest.param(
            pod_manifest(init=[{"cpu": "3"}], sidecars=[{"cpu": "1"}]),
            pod_with(
                initContainers=[
                    {
                        "name": "sidecar-0",
                        "image": "localhost/pause:1",
                        "restartPolicy": "Always",
                        "resources": {"requests": {"cpu": "1"}},
                    },
                    {"name": "init-0", "image": "localhost/pause:1", "resources": {"requests": {"cpu": "3"}}},
                ]
            ),
            id="sidecars start before init containers and keep running",
        ),
        pytest.param(
            pod_manifest(gates=["example.com/hold"]),
            pod_with(schedulingGates=[{"name": "example.com/hold"}]),
            id="a gate is a name",
        ),
        pytest.param(
            pod_manifest(
                node="n1",
                node_selector={"disk": "ssd"},
                affinity={"podAntiAffinity": {}},
                tolerations=[{"operator": "Exists"}],
                priority_class="high",
                overhead={"cpu": "250m"},
            ),
            pod_with(
                nodeName="n1",
                nodeSelector={"disk": "ssd"},
                affinity={"podAntiAffinity": {}},
                tolerations=[{"operator": "Exists"}],
                priorityClassName="high",
                overhead={"cpu": "250m"},
            ),
            id="placement fields arrive as they were given",
        ),
        pytest.param(
            pod_manifest(scheduler="batch", spec={"schedulerName": "other", "hostNetwork": True}),
            pod_with(schedulerName="other", hostNetwork=True),
            id="spec adds and replaces fields",
        ),
    ],
)
def test_pod_manifest(pod: Manifest, expected: Manifest) -> None:
    assert pod == expected


def test_pod_metadata() -> None:
    pod = pod_manifest("web", namespace="shop", labels={"app": "web"}, annotations={"note": "x"})
    assert pod["metadata"] == {
        "name": "web",
        "namespace": "shop",
        "labels": {"app": "web"},
        "annotations": {"note": "x"},
    }


@pytest.mark.parametrize(
    ("node", "field", "expected"),
    [
        pytest.param(
            node_manifest("n1"),
            "metadata",
            {
                "name": "n1",
                "labels": {"kubernetes.io/hostname": "n1", "type": "kwok"},
                "annotations": {"kwok.x-k8s.io/node": "fake"},
            },
            id="a node is fake unless told otherwise",
        ),
        pytest.param(
            node_manifest("n1", fake=False),
            "metadata",
            {"name": "n1", "labels": {"kubernetes.io/hostname": "n1"}},
            id="kwok does not touch a node that is not fake",
        ),
        pytest.param(
            node_manifest("n1", fake=False, labels={"zone": "a", "kubernetes.io/hostname": "other"}),
            "metadata",
            {"name": "n1", "labels": {"kubernetes.io/hostname": "other", "zone": "a"}},
            id="labels add and replace",
        ),
        pytest.param(
            node_manifest(cpu=8, memory="16Gi", pods=3),
            "status",
            {
                "capacity": {"cpu": "8", "memory": "16Gi", "pods": "3"},
                "allocatable": {"cpu": "8", "memory": "16Gi", "pods": "3"},
            },
            id="all capacity is allocatable",
        ),
        pytest.param(
            node_manifest(allocatable={"example.com/gpu": 2, "cpu": "3500m"}),
            "status",
            {
                "capacity": {"cpu": "3500m", "memory": "32Gi", "pods": "110", "example.com/gpu": "2"},
                "allocatable": {"cpu": "3500m", "memory": "32Gi", "pods": "110", "example.com/gpu": "2"},
            },
            id="extended resources join the others",
        ),
        pytest.param(node_manifest(), "spec", {}, id="a plain node takes every pod"),
        pytest.param(
            node_manifest(taints=[{"key": "gpu", "effect": "NoSchedule"}], unschedulable=True),
            "spec",
            {"taints": [{"key": "gpu", "effect": "NoSchedule"}], "unschedulable": True},
            id="taints and the cordon are kept",
        ),
    ],
)
def test_node_manifest(node: Manifest, field: str, expected: Manifest) -> None:
    assert node[field] == expected


@pytest.mark.parametrize(
    "manifest",
    [
        pytest.param(pod_manifest(requests={"cpu": 1}, tolerations=({"operator": "Exists"},)), id="a pod"),
        pytest.param(node_manifest(taints=({"key": "a", "effect": "NoExecute"},)), id="a node"),
    ],
)
def test_manifests_are_plain_data(manifest: Manifest) -> None:
    assert yaml.safe_load(yaml.safe_dump(manifest)) == manifest
