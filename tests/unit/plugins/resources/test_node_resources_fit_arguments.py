from typing import Any

import pytest

from pilotage.config.faults import Stage
from pilotage.plugins.resources.node_resources_fit import NodeResourcesFit

AT = ("profiles", 0, "pluginConfig", 1, "args")
CPU_AND_MEMORY = [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]
SUPPORTED = 'supported values: "LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"'
SHAPE = "scoringStrategy.requestedToCapacityRatio.shape"


def ratio(*points: tuple[int, int]) -> dict[str, Any]:
    shape = [{"utilization": utilization, "score": score} for utilization, score in points]
    return {"scoringStrategy": {"type": "RequestedToCapacityRatio", "requestedToCapacityRatio": {"shape": shape}}}


def weights(*given: int) -> dict[str, Any]:
    return {"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "x", "weight": w} for w in given]}}


@pytest.mark.parametrize(
    ("given", "strategy"),
    [
        pytest.param({}, {"type": "LeastAllocated", "resources": CPU_AND_MEMORY}, id="nothing"),
        pytest.param({"scoringStrategy": None}, {"type": "LeastAllocated", "resources": CPU_AND_MEMORY}, id="null"),
        pytest.param({"scoringStrategy": {"type": "MostAllocated", "resources": []}},
                     {"type": "MostAllocated", "resources": CPU_AND_MEMORY}, id="no resources"),
        pytest.param({"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu"}]}},
                     {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}]}, id="no weight"),
        pytest.param(weights(0), {"type": "MostAllocated", "resources": [{"name": "x", "weight": 1}]},
                     id="a weight of zero"),
        pytest.param(ratio((0, 1)), ratio((0, 1))["scoringStrategy"] | {"resources": CPU_AND_MEMORY}, id="a function"),
    ],
)  # fmt: skip
def test_defaults(given: dict[str, Any], strategy: dict[str, Any]) -> None:
    read = NodeResourcesFit.read_arguments(given, AT)
    assert (read.value, read.faults) == ({"scoringStrategy": strategy}, ())


def test_what_is_ignored_is_kept() -> None:
    given = {"ignoredResources": ["example.com/a", "b"], "ignoredResourceGroups": ["example.com"]}
    read = NodeResourcesFit.read_arguments(given, AT)
    assert read.faults == ()
    assert read.value == {**given, "scoringStrategy": {"type": "LeastAllocated", "resources": CPU_AND_MEMORY}}


# Every text was said by kube-scheduler 1.37.1.
@pytest.mark.parametrize(
    ("given", "text", "at"),
    [
        pytest.param({"scoringStrategy": {}}, f'scoringStrategy.type: Unsupported value: "": {SUPPORTED}',
                     ("scoringStrategy", "type"), id="a strategy without a type"),
        pytest.param({"scoringStrategy": {"type": "Best"}},
                     f'scoringStrategy.type: Unsupported value: "Best": {SUPPORTED}', ("scoringStrategy", "type"),
                     id="an unknown type"),
        pytest.param(weights(-1), "scoringStrategy.resources[0].weight: Invalid value: -1: "
                     "resource weight of x not in valid range (0, 100]", ("scoringStrategy", "resources", 0, "weight"),
                     id="a negative weight"),
        pytest.param(weights(1, 101), "scoringStrategy.resources[1].weight: Invalid value: 101: "
                     "resource weight of x not in valid range (0, 100]", ("scoringStrategy", "resources", 1, "weight"),
                     id="a large weight"),
        pytest.param({"scoringStrategy": {"type": "RequestedToCapacityRatio"}},
                     "scoringStrategy.requestedToCapacityRatio: Required value: "
                     "must be specified when type is RequestedToCapacityRatio",
                     ("scoringStrategy", "requestedToCapacityRatio"), id="no function"),
        pytest.param({"scoringStrategy": ratio((0, 0))["scoringStrategy"] | {"type": "LeastAllocated"}},
                     "scoringStrategy.requestedToCapacityRatio: Forbidden: "
                     "must be nil when type is not RequestedToCapacityRatio",
                     ("scoringStrategy", "requestedToCapacityRatio"), id="a function for nothing"),
        pytest.param(ratio(), f"{SHAPE}: Required value: at least one point must be specified",
                     ("scoringStrategy", "requestedToCapacityRatio", "shape"), id="a function without points"),
        pytest.param(ratio((10, 1), (10, 2), (5, 3)),
                     f"{SHAPE}[1].utilization: Invalid value: 10: values must be sorted in increasing order",
                     ("scoringStrategy", "requestedToCapacityRatio", "shape", 1, "utilization"),
                     id="points in disorder, of which the first is told"),
        pytest.param(ratio((-1, 11), (101, -1)),
                     f"[{SHAPE}[0].utilization: Invalid value: -1: not in valid range [0, 100], "
                     f"{SHAPE}[0].score: Invalid value: 11: not in valid range [0, 10], "
                     f"{SHAPE}[1].utilization: Invalid value: 101: not in valid range [0, 100], "
                     f"{SHAPE}[1].score: Invalid value: -1: not in valid range [0, 10]]",
                     ("scoringStrategy", "requestedToCapacityRatio", "shape", 0, "utilization"),
                     id="points out of range, all in one text"),
        pytest.param({"ignoredResources": [""]}, "[ignoredResources[0]: Invalid value: \"\": name part must be "
                     "non-empty, ignoredResources[0]: Invalid value: \"\": name part must consist of alphanumeric "
                     "characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. "
                     "'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
                     "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')]", ("ignoredResources", 0), id="an empty name"),
        pytest.param({"ignoredResourceGroups": ["fine", "example.com/gpu"]},
                     "ignoredResourceGroups[1]: Invalid value: \"example.com/gpu\": "
                     "resource group name can't contain '/'", ("ignoredResourceGroups", 1), id="a group with a slash"),
    ],
)  # fmt: skip
def test_faults_are_those_of_the_constructor(given: dict[str, Any], text: str, at: tuple[str | int, ...]) -> None:
    (fault,) = NodeResourcesFit.read_arguments(given, AT).faults
    assert (fault.stage, fault.text, fault.at) == (Stage.PROFILES, text, (*AT, *at))


def test_constructed_without_arguments() -> None:
    (fault,) = NodeResourcesFit.read_arguments(None, AT).faults
    assert (fault.stage, fault.text) == (Stage.PROFILES, "want args to be of type NodeResourcesFitArgs, got <nil>")


def test_an_unknown_field() -> None:
    (fault,) = NodeResourcesFit.read_arguments({"scoringStrategy": {"type": "LeastAllocated", "kind": "x"}}, AT).faults
    assert (fault.stage, fault.text) == (Stage.STRICTNESS, 'unknown field "scoringStrategy.kind"')
