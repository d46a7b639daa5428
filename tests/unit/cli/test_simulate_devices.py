"""`pilotage simulate` with devices: it plays the part of the claim controller, and says what each pod gets."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from click.testing import Result

from pilotage.testing import Manifest, node_manifest, pod_manifest

Pilotage = Callable[..., Result]
Write = Callable[..., str]

DRIVER, GPU = "gpu.example.com", "example.com/gpu"
BROKEN = {"key": "broken", "value": "fan", "effect": "NoSchedule"}


def of_devices(kind: str, name: str, spec: Manifest, version: str = "v1") -> Manifest:
    return {"apiVersion": f"resource.k8s.io/{version}", "kind": kind, "metadata": {"name": name}, "spec": spec}


def slice_of(node: str, *devices: Manifest) -> Manifest:
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    return of_devices(
        "ResourceSlice", f"{node}-gpus", {"driver": DRIVER, "nodeName": node, "pool": pool, "devices": list(devices)}
    )


def requests(**exactly: Any) -> Manifest:
    return {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu", **exactly}}]}}


def template(name: str, **exactly: Any) -> Manifest:
    spec = {"metadata": {"labels": {"made": "yes"}}, "spec": requests(**exactly)}
    return of_devices("ResourceClaimTemplate", name, spec)


def claim(name: str, **exactly: Any) -> Manifest:
    return of_devices("ResourceClaim", name, requests(**exactly))


def pod(name: str, *, by_template: str = "", by_name: str = "", **fields: Any) -> Manifest:
    entry = {"resourceClaimTemplateName": by_template} if by_template else {"resourceClaimName": by_name}
    spec = {"resourceClaims": [{"name": "gpu", **entry}]} if by_template or by_name else None
    return pod_manifest(name, spec=spec, **fields)


CLASS = of_devices("DeviceClass", "gpu", {"extendedResourceName": GPU})
TWO = slice_of("n1", {"name": "gpu-0"}, {"name": "gpu-1"})
HALF_BROKEN = slice_of("n1", {"name": "gpu-0"}, {"name": "gpu-1", "taints": [BROKEN]})
NODES = (node_manifest("n1"), node_manifest("n2"))


def simulated(pilotage: Pilotage, write: Write, *manifests: Manifest) -> dict[str, list[str]]:
    """Return the devices of each pod as claim/request=pool/device."""
    result = pilotage("simulate", "-f", write(*NODES, CLASS, *manifests), "-o", "json")
    return {
        each["name"]: [
            f"{device['claim']}/{device['request']}={device['pool']}/{device['device']}"
            for device in each["allocations"]
        ]
        for each in json.loads(result.stdout)
    }


@pytest.mark.parametrize(
    ("manifests", "expected"),
    [
        pytest.param(
            (TWO, template("one"), pod("a", by_template="one"), pod("b", by_template="one")),
            {"a": ["a-gpu/gpu=n1/gpu-0"], "b": ["b-gpu/gpu=n1/gpu-1"]},
            id="each pod gets a claim of its own from a template",
        ),
        pytest.param(
            (TWO, claim("shared"), pod("a", by_name="shared"), pod("b", by_name="shared")),
            {"a": ["shared/gpu=n1/gpu-0"], "b": ["shared/gpu=n1/gpu-0"]},
            id="pods share a claim",
        ),
        pytest.param(
            (TWO, pod("a", requests={GPU: 2}), pod("b", requests={GPU: 1})),
            {
                "a": [
                    "a-extended-resources/container-0-request-0=n1/gpu-0",
                    "a-extended-resources/container-0-request-0=n1/gpu-1",
                ],
                "b": [],
            },
            id="an extended resource",
        ),
        pytest.param(
            (TWO, claim("a-gpu"), template("one"), pod("a", by_template="one")),
            {"a": ["a-gpu-2/gpu=n1/gpu-0"]},
            id="a name that another claim has",
        ),
        pytest.param(
            (
                HALF_BROKEN,
                claim("both", count=2, tolerations=[{"key": "broken", "value": "fan"}]),
                pod("a", by_name="both"),
            ),
            {"a": ["both/gpu=n1/gpu-0", "both/gpu=n1/gpu-1"]},
            id="the operator of a toleration is Equal",
        ),
        pytest.param(
            (
                TWO,
                of_devices("DeviceTaintRule", "all", {"deviceSelector": {"driver": DRIVER}, "taint": BROKEN}),
                claim("one"),
                pod("a", by_name="one"),
            ),
            {"a": []},
            id="a rule that taints devices",
        ),
        pytest.param(
            (
                of_devices(
                    "ResourceSlice",
                    "old",
                    {
                        "driver": DRIVER,
                        "nodeName": "n1",
                        "pool": {"name": "n1", "generation": 1, "resourceSliceCount": 1},
                        "devices": [{"name": "gpu-0", "basic": {"attributes": {"x": {"int": 1}}}}],
                    },
                    "v1beta1",
                ),
                of_devices(
                    "ResourceClaim",
                    "old",
                    {
                        "devices": {
                            "requests": [
                                {
                                    "name": "gpu",
                                    "deviceClassName": "gpu",
                                    "selectors": [{"cel": {"expression": f"device.attributes['{DRIVER}'].x == 1"}}],
                                }
                            ]
                        }
                    },
                    "v1beta1",
                ),
                pod("a", by_name="old"),
            ),
            {"a": ["old/gpu=n1/gpu-0"]},
            id="manifests of v1beta1",
        ),
        pytest.param(
            (
                slice_of("n1", {"name": "gpu-0"}),
                template("one"),
                pod("a", by_template="one", cpu=3),
                {**pod("b", by_template="one", cpu=3), "metadata": {"name": "b"}},
            ),
            {"a": ["a-gpu/gpu=n1/gpu-0"], "b": []},
            id="devices run out",
        ),
    ],
)
def test_devices_of_pods(
    pilotage: Pilotage, write: Write, manifests: tuple[Manifest, ...], expected: dict[str, list[str]]
) -> None:
    assert simulated(pilotage, write, *manifests) == expected


def test_the_devices_of_a_victim_come_free(pilotage: Pilotage, write: Write) -> None:
    important = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "high"},
        "value": 9,
    }
    first = pod("first", by_template="one", cpu=3)
    first["metadata"]["labels"] = {"app": "first"}
    second = pod("second", cpu=3, priority_class="high", node_selector={"kubernetes.io/hostname": "n1"})
    late = pod("late", by_template="one")
    nodes = (node_manifest("n1", cpu=4, labels={"kubernetes.io/hostname": "n1"}),)
    objects = (CLASS, slice_of("n1", {"name": "gpu-0"}), template("one"), important, first)
    bound = pilotage("simulate", "-f", write(*nodes, *objects), "-o", "json")
    assert json.loads(bound.stdout)[0]["node"] == "n1"
    placed = {
        **first,
        "metadata": {**first["metadata"], "uid": "first"},
        "spec": {**first["spec"], "nodeName": "n1"},
        "status": {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "first-gpu"}]},
    }
    held = {
        **claim("first-gpu"),
        "status": {
            "allocation": {
                "devices": {"results": [{"request": "gpu", "driver": DRIVER, "pool": "n1", "device": "gpu-0"}]}
            },
            "reservedFor": [{"resource": "pods", "name": "first", "uid": "first"}],
        },
    }
    result = pilotage(
        "simulate",
        "-f",
        write(*nodes, *objects[:-1], placed, held, second, late),
        "-o",
        "json",
    )
    told = {each["name"]: (each["node"], len(each["allocations"])) for each in json.loads(result.stdout)}
    assert told == {"second": ("n1", 0), "late": ("n1", 1)}


def test_the_table_has_a_column_for_devices(pilotage: Pilotage, write: Write) -> None:
    result = pilotage("simulate", "-f", write(*NODES, CLASS, TWO, template("one"), pod("a", by_template="one")))
    assert result.stdout.splitlines() == ["NAMESPACE  NAME  NODE  DEVICES", "default    a     n1    n1/gpu-0"]


def test_replicas_have_claims_of_their_own(pilotage: Pilotage, write: Write) -> None:
    file = write(*NODES, CLASS, TWO, template("one"), pod("a", by_template="one"))
    result = pilotage("simulate", "-f", file, "--replicas", "2")
    assert [line.split()[-1] for line in result.stdout.splitlines()[1:]] == ["n1/gpu-0", "n1/gpu-1"]


def test_a_template_that_is_missing_is_told(pilotage: Pilotage, write: Write) -> None:
    result = pilotage("simulate", "-f", write(*NODES, CLASS, pod("a", by_template="lost")))
    assert 'pod "default/a": ResourceClaim not created yet' in result.stdout
    assert "note: pod default/a has no claim gpu: its template default/lost is not in the files" in result.stderr


MODEL = "device.attributes['gpu.example.com'].model == 'h100'"


@pytest.mark.parametrize(
    ("manifests", "because", "remedies"),
    [
        pytest.param(
            (HALF_BROKEN, claim("two", count=2), pod("a", by_name="two")),
            "cannot allocate all claims (gpu wants 2 of 2 devices: 1 tainted)",
            [
                "owner: ask for 1 instead of 2 devices in request gpu of default/two: fits on n1",
                "owner: tolerate the device taint broken=fan:NoSchedule in request gpu of default/two: fits on n1",
            ],
            id="a taint",
        ),
        pytest.param(
            (TWO, claim("one", deviceClassName="gpus"), pod("a", by_name="one")),
            "",
            [
                "owner: name the device class gpu instead of gpus in request gpu of default/one: fits on n1",
                "admin: create the device class gpus (not tried: it decides itself which devices it selects)",
            ],
            id="a class that does not exist",
        ),
        pytest.param(
            (
                slice_of("n1", {"name": "gpu-0", "attributes": {"model": {"string": "a100"}}}),
                claim("one", selectors=[{"cel": {"expression": MODEL}}]),
                pod("a", by_name="one"),
            ),
            f"cannot allocate all claims (gpu wants 1, none of 1 device matches {MODEL})",
            [],
            id="a selector",
        ),
        pytest.param(
            (TWO, pod("a", requests={GPU: 3})),
            f"cannot allocate all claims ({GPU} wants 3 of 2 devices: too few)",
            [f"owner: ask for {GPU} 2 instead of 3: fits on n1"],
            id="an extended resource",
        ),
        pytest.param(
            (TWO, pod("a", requests={GPU: 1, "example.com/nic": 1})),
            "Insufficient example.com/nic (wants 1, 0 of 0 free)",
            [],
            id="a resource that nobody serves",
        ),
        pytest.param(
            (
                TWO,
                {
                    **claim("one"),
                    "status": {
                        "allocation": {
                            "devices": {
                                "results": [{"request": "gpu", "driver": DRIVER, "pool": "n2", "device": "gpu-9"}]
                            },
                            "nodeSelector": {
                                "nodeSelectorTerms": [
                                    {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n2"]}]}
                                ]
                            },
                        },
                        "reservedFor": [{"resource": "pods", "name": "other", "uid": "other"}],
                    },
                },
                pod("a", by_name="one", node_selector={"disk": "ssd"}),
            ),
            "resourceclaim not available on the node (one has n2/gpu-9)",
            [],
            id="devices of another node",
        ),
    ],
)
def test_explanations(
    pilotage: Pilotage, write: Write, manifests: tuple[Manifest, ...], because: str, remedies: list[str]
) -> None:
    nodes = (node_manifest("n1", labels={"disk": "ssd"}), node_manifest("n2"))
    result = pilotage("simulate", "-f", write(*nodes, CLASS, *manifests), "--explain", "a")
    assert because in result.stdout
    for remedy in remedies:
        assert f"    {remedy}" in result.stdout.splitlines()
