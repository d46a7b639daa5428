"""What pods ask for and may use, told as kube-scheduler v1.37.1 told it of the same pods."""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from pilotage.model.pod import Pod
from pilotage.telemetry.resource_metrics import AT_A_TIME, LIMIT, REQUEST, resource_metrics
from pilotage.testing import make_pod
from pilotage.testing.objects import decode_pod

PLAIN = decode_pod(
    {
        "metadata": {"name": "plain", "namespace": "default"},
        "spec": {
            "nodeName": "n1",
            "priority": 0,
            "initContainers": [
                {
                    "name": "i",
                    "resources": {"requests": {"cpu": "1500m", "memory": "10Mi"}, "limits": {"cpu": "1500m"}},
                },
                {
                    "name": "side",
                    "restartPolicy": "Always",
                    "resources": {"requests": {"cpu": "100m", "memory": "1"}, "limits": {"memory": "2Gi"}},
                },
            ],
            "containers": [
                {
                    "name": "a",
                    "resources": {
                        "requests": {
                            "cpu": "200m",
                            "memory": "20Mi",
                            "ephemeral-storage": "1Gi",
                            "example.com/gpu": "2",
                            "hugepages-2Mi": "4Mi",
                        },
                        "limits": {"cpu": "1", "memory": "40Mi", "example.com/gpu": "2", "hugepages-2Mi": "4Mi"},
                    },
                },
                {"name": "b"},
            ],
        },
    }
)
WHOLE_POD = make_pod(
    cpu="200m", spec={"resources": {"requests": {"cpu": "300m", "memory": "100Mi"}, "limits": {"cpu": "400m"}}}
)
WITH_OVERHEAD = make_pod(
    requests={"cpu": 0, "memory": "1Mi"}, limits={"cpu": "100m"}, overhead={"cpu": "250m", "memory": "64Mi"}
)


def told(*pods: Pod) -> dict[str, dict[tuple[str, str], float]]:
    """Return amounts by resource and unit, by metric."""
    return {
        family.name: {(each.labels["resource"], each.labels["unit"]): each.value for each in family.samples}
        for family in text_string_to_metric_families("".join(resource_metrics(pods)))
    }


@pytest.mark.parametrize(
    ("pod", "requests", "limits"),
    [
        pytest.param(
            PLAIN,
            {
                ("cpu", "cores"): 1.5,
                ("memory", "bytes"): 20 * 2**20 + 1,
                ("ephemeral-storage", "bytes"): 2**30,
                ("example.com/gpu", ""): 2,
                ("hugepages-2Mi", "bytes"): 4 * 2**20,
            },
            {
                ("cpu", "cores"): 1.5,
                ("memory", "bytes"): 2189426688,
                ("example.com/gpu", ""): 2,
                ("hugepages-2Mi", "bytes"): 4 * 2**20,
            },
            id="an init container can need the most, and a sidecar adds to all others",
        ),
        pytest.param(
            WHOLE_POD,
            {("cpu", "cores"): 0.3, ("memory", "bytes"): 100 * 2**20},
            {("cpu", "cores"): 0.4},
            id="what the whole pod says goes before its containers",
        ),
        pytest.param(
            WITH_OVERHEAD,
            {("cpu", "cores"): 0.25, ("memory", "bytes"): 65 * 2**20},
            {("cpu", "cores"): 0.35},
            id="overhead is asked for in any case, and makes a limit higher where there is one",
        ),
        pytest.param(
            make_pod(requests={"attachable-volumes-csi-x": 3}),
            {("attachable-volumes-csi-x", "integer"): 3},
            {},
            id="volumes are counted",
        ),
        pytest.param(make_pod(requests={"cpu": 0}), {}, {}, id="nothing is not told"),
        pytest.param(make_pod(cpu=1, node="n1", status={"phase": "Failed"}), {}, {}, id="a pod at its end has nothing"),
        pytest.param(make_pod(limits={"cpu": "1e500"}), {}, {}, id="what cannot be read is left out"),
    ],
)
def test_amounts(pod: Pod, requests: dict[tuple[str, str], float], limits: dict[tuple[str, str], float]) -> None:
    found = told(pod)
    assert found["kube_pod_resource_request"] == requests
    assert found["kube_pod_resource_limit"] == limits


@pytest.mark.parametrize(
    ("pod", "labels"),
    [
        pytest.param(
            make_pod("a", namespace="b", cpu=1, node="n1", scheduler="batch", priority=-5),
            'namespace="b",pod="a",node="n1",scheduler="batch",priority="-5",resource="cpu",unit="cores"',
            id="a placed pod",
        ),
        pytest.param(
            make_pod("a", cpu=1),
            'namespace="default",pod="a",node="",scheduler="default-scheduler",priority="",resource="cpu",unit="cores"',
            id="a waiting pod without a priority",
        ),
        pytest.param(
            make_pod('a"} 1\nfake{x="', cpu=1),
            r'namespace="default",pod="a\"} 1\nfake{x=\"",node="",scheduler="default-scheduler",priority="",'
            'resource="cpu",unit="cores"',
            id="a name that would be a sample of its own",
        ),
    ],
)
def test_labels(pod: Pod, labels: str) -> None:
    assert f"kube_pod_resource_request{{{labels}}} 1\n" in "".join(resource_metrics([pod]))


def test_a_resized_pod_is_told_with_what_it_has() -> None:
    status = {"containerStatuses": [{"name": "main", "allocatedResources": {"cpu": "3"}}]}
    pod = make_pod(cpu=1, node="n1", status=status)
    assert told(pod)["kube_pod_resource_request"] == {("cpu", "cores"): 3}


def test_many_pods_come_in_pieces_and_each_comes_once() -> None:
    pods = [make_pod(f"pod-{number}", cpu=1) for number in range(AT_A_TIME + 1)]
    pieces = list(resource_metrics(pods))
    assert max(piece.count("\n") for piece in pieces) == AT_A_TIME
    assert "".join(pieces).count("kube_pod_resource_request{") == AT_A_TIME + 1


@pytest.mark.parametrize(
    "disabled", [(), (REQUEST,), (LIMIT,), (REQUEST, LIMIT)], ids=["none", "requests", "limits", "both"]
)
def test_each_of_the_two_can_be_disabled(disabled: tuple[str, ...]) -> None:
    text = "".join(resource_metrics([PLAIN], disabled))
    assert {name for name in (REQUEST, LIMIT) if name in text} == {REQUEST, LIMIT}.difference(disabled)
