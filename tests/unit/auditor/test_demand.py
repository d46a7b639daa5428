from typing import Any

import pytest

from auditor.demand import demand_of


def container(cpu: str, name: str = "main", **more: Any) -> dict[str, Any]:
    return {"name": name, "resources": {"requests": {"cpu": cpu}}, **more}


def sidecar(cpu: str) -> dict[str, Any]:
    return container(cpu, "side", restartPolicy="Always")


def state(allocated: str, in_force: str | None = None) -> dict[str, Any]:
    status: dict[str, Any] = {"name": "main", "allocatedResources": {"cpu": allocated}}
    return status | ({"resources": {"requests": {"cpu": in_force}}} if in_force else {})


INFEASIBLE = {"conditions": [{"type": "PodResizePending", "reason": "Infeasible"}]}


@pytest.mark.parametrize(
    ("spec", "status", "cpu"),
    [
        pytest.param({"containers": [container("1"), container("500m")]}, {}, 1500, id="containers add up"),
        pytest.param({"containers": [{"name": "bare"}]}, {}, None, id="no request is no demand"),
        pytest.param(
            {"containers": [container("1")], "initContainers": [container("3")]}, {}, 3000, id="a larger init counts"
        ),
        pytest.param(
            {"containers": [container("2")], "initContainers": [container("1"), container("1")]},
            {},
            2000,
            id="inits run one after the other",
        ),
        pytest.param(
            {"containers": [container("1")], "initContainers": [sidecar("500m")]}, {}, 1500, id="a sidecar adds up"
        ),
        pytest.param(
            {"containers": [container("1")], "initContainers": [container("2"), sidecar("500m"), container("1800m")]},
            {},
            2300,
            id="an init after a sidecar runs beside it",
        ),
        pytest.param(
            {"containers": [container("1")], "initContainers": [container("2"), sidecar("1")]},
            {},
            2000,
            id="an init before a sidecar runs alone",
        ),
        pytest.param({"containers": [container("1")], "overhead": {"cpu": "250m"}}, {}, 1250, id="overhead is added"),
        pytest.param(
            {"containers": [container("1")], "resources": {"requests": {"cpu": "3"}}, "overhead": {"cpu": "1"}},
            {},
            4000,
            id="a pod-level request replaces the sum and overhead is added to it",
        ),
        pytest.param(
            {"containers": [container("1")]},
            {"containerStatuses": [state("3")]},
            3000,
            id="a shrinking pod still holds",
        ),
        pytest.param(
            {"containers": [container("3")]},
            {"containerStatuses": [state("1")]},
            3000,
            id="a growing pod holds already",
        ),
        pytest.param(
            {"containers": [container("1")]},
            {"containerStatuses": [state("1", in_force="2")]},
            2000,
            id="what is still in force counts",
        ),
        pytest.param(
            {"containers": [container("9")]},
            {"containerStatuses": [state("1")], **INFEASIBLE},
            1000,
            id="a resize that will never be granted does not count",
        ),
        pytest.param(
            {"containers": [container("1")], "resources": {"requests": {"cpu": "2"}}},
            {"allocatedResources": {"cpu": "5"}},
            5000,
            id="what is allocated to the pod as a whole counts",
        ),
        pytest.param(
            {"containers": [container("100u"), container("100u")]}, {}, 1, id="the sum is rounded, not its parts"
        ),
    ],
)
def test_cpu(spec: dict[str, Any], status: dict[str, Any], cpu: int | None) -> None:
    assert demand_of({"spec": spec, "status": status}, pytest.fail).get("cpu") == cpu


@pytest.mark.parametrize(
    ("name", "counted"),
    [
        pytest.param("cpu", True, id="cpu is counted"),
        pytest.param("ephemeral-storage", True, id="ephemeral storage is counted"),
        pytest.param("hugepages-2Mi", True, id="hugepages are counted"),
        pytest.param("example.com/gpu", True, id="an extended resource is counted"),
        pytest.param("requests.example.com/gpu", False, id="a quota name is not"),
        pytest.param("storage", False, id="an unknown plain name is not"),
    ],
)
def test_names(name: str, counted: bool) -> None:
    spec = {"containers": [{"name": "main", "resources": {"requests": {name: "1"}}}]}
    assert (name in demand_of({"spec": spec}, pytest.fail)) is counted


def test_a_resource_that_a_claim_serves_is_not_asked_of_the_node() -> None:
    spec = {"containers": [{"name": "main", "resources": {"requests": {"example.com/gpu": "1", "cpu": "1"}}}]}
    status = {"extendedResourceClaimStatus": {"requestMappings": [{"resourceName": "example.com/gpu"}]}}
    assert demand_of({"spec": spec, "status": status}, pytest.fail) == {"cpu": 1000}


def test_what_cannot_be_read_is_noted_and_counts_nothing() -> None:
    notes: list[str] = []
    assert demand_of({"spec": {"containers": [container("many")]}}, notes.append) == {}
    assert notes == ["cpu: 'many' is not a quantity; counted as 0"]
