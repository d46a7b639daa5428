"""Upstream's descriptions of workloads, read; the description here is made up in the same language."""

from pathlib import Path

import pytest

from bench.live.operations import (
    Barrier,
    Churn,
    Count,
    CreateAny,
    CreateNamespaces,
    CreateNodes,
    CreatePods,
    CreatePodSets,
    DeletePods,
    Operation,
    Sleep,
    StartMeasuring,
    StopMeasuring,
    Template,
)
from bench.live.workload_files import read
from localcluster.errors import Problem

CASE = """
- name: Harbour
  defaultPodTemplatePath: ../boat.yaml
  featureGates: {Tides: true}
  workloadTemplate:
  - {opcode: createNodes, countParam: $piers}
  - {opcode: createPods, countParam: $boats, collectMetrics: true}
  workloads:
  - name: small
    labels: [short]
    params: {piers: 3, boats: 7}
  - name: large
    threshold: 90
    featureGates: {Fog: false}
    params: {piers: 300, boats: 700}
"""


def _one(folder: Path, step: str, parameters: str = "{n: 4, wait: 1m, steady: true}") -> Operation | str:
    """What one step is read as, or why it is refused."""
    file = folder / "performance-config.yaml"
    file.write_text(f"- name: C\n  workloadTemplate: [{step}]\n  workloads: [{{name: w, params: {parameters}}}]")
    workloads, refusals = read([file])
    return workloads[0].operations[0] if workloads else refusals[0].reason


def test_a_case_is_read_with_its_workloads_and_their_numbers(tmp_path: Path) -> None:
    file = tmp_path / "performance-config.yaml"
    file.write_text(CASE)
    (small, large), refusals = read([file])
    assert refusals == []
    assert (small.title, small.labels, small.threshold) == ("Harbour/small", frozenset({"short"}), None)
    assert small.operations == (
        CreateNodes(Count(3)),
        CreatePods(Count(7), Template(tmp_path / "../boat.yaml"), measured=True),
    )
    assert (large.threshold, large.gates) == (90, {"Tides": True, "Fog": False})


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        pytest.param(
            "{opcode: createNodes, count: 2, labelNodePrepareStrategy: {labelKey: zone, labelValues: [a, b]}}",
            CreateNodes(Count(2, fixed=True), label="zone", values=("a", "b")),
            id="nodes get labels in turn",
        ),
        pytest.param(
            "{opcode: createNodes, countParam: $n, uniqueNodeLabelStrategy: {labelKey: own}}",
            CreateNodes(Count(4), label="own"),
            id="each node its own label",
        ),
        pytest.param(
            "{opcode: createNodes, countParam: $n, nodeAllocatableStrategy: {nodeAllocatable: {x: '9'}, "
            "csiNodeAllocatable: {d: {count: 3}}, migratedPlugins: [p]}}",
            CreateNodes(Count(4), allocatable={"x": "9"}, attachable={"d": {"count": 3}}, migrated=("p",)),
            id="nodes take volumes",
        ),
        pytest.param(
            "{opcode: createNamespaces, prefix: ns, count: 2}",
            CreateNamespaces("ns", Count(2, fixed=True)),
            id="namespaces",
        ),
        pytest.param(
            "{opcode: createPods, countParam: $n, namespace: here, skipWaitToCompletion: true}",
            CreatePods(Count(4), namespace="here", waits=False),
            id="pods that nobody waits for",
        ),
        pytest.param(
            "{opcode: createPodSets, count: 3, namespacePrefix: ns, createPodsOp: {opcode: createPods, count: 4}}",
            CreatePodSets("ns", Count(3, fixed=True), CreatePods(Count(4, fixed=True))),
            id="pods in several namespaces",
        ),
        pytest.param(
            "{opcode: deletePods, namespace: ns, deletePodsPerSecond: 50, skipWaitToCompletion: true}",
            DeletePods("ns", per_second=50, waits=False),
            id="pods go at a pace",
        ),
        pytest.param("{opcode: barrier}", Barrier(), id="a barrier waits for bound pods"),
        pytest.param(
            "{opcode: barrier, namespaces: [a], stageRequirement: Attempted}",
            Barrier(("a",), only_tried=True),
            id="or for tried ones",
        ),
        pytest.param("{opcode: sleep, duration: 500ms}", Sleep(0.5), id="a nap"),
        pytest.param("{opcode: sleep, durationParam: $wait}", Sleep(60.0), id="a nap of a parameter's length"),
        pytest.param(
            "{opcode: startCollectingMetrics, namespaces: [a]}", StartMeasuring(("a",)), id="the clock starts"
        ),
        pytest.param("{opcode: stopCollectingMetrics}", StopMeasuring(), id="the clock stops"),
        pytest.param("{opcode: createPods, countParam: $none|5}", CreatePods(Count(5)), id="a parameter has a default"),
    ],
)
def test_a_step_is_read(tmp_path: Path, step: str, expected: Operation) -> None:
    assert _one(tmp_path, step) == expected


def test_steps_name_their_templates_beside_the_file(tmp_path: Path) -> None:
    churn = _one(
        tmp_path, "{opcode: churn, mode: recreate, number: 2, templatePaths: [a.yaml], intervalMilliseconds: 200}"
    )
    assert churn == Churn((Template(tmp_path / "a.yaml"),), recreate=True, number=2, seconds=0.2)
    made = _one(tmp_path, "{opcode: createAny, templatePath: t.yaml, namespace: ns, templateParams: {size: $n}}")
    assert made == CreateAny(Template(tmp_path / "t.yaml", {"size": 4}), namespace="ns")


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        pytest.param("{opcode: createPodGroups}", "opcode createPodGroups", id="an opcode"),
        pytest.param("{opcode: barrier, mood: grim}", "barrier: mood", id="a word of an opcode"),
        pytest.param("{opcode: createPods, count: 1, steadyStateParam: $steady}", "a duration of 'None'", id="a mode"),
        pytest.param("{opcode: createPods, countParam: $gone}", "no parameter $gone", id="a parameter nobody gives"),
        pytest.param("{opcode: createPods, countParam: $wait}", "createPods: a count of '1m'", id="a count"),
        pytest.param("{opcode: sleep, duration: a while}", "a duration of 'a while'", id="a duration"),
    ],
)
def test_what_we_do_not_know_is_refused_by_name(tmp_path: Path, step: str, reason: str) -> None:
    assert _one(tmp_path, step) == reason


@pytest.mark.parametrize(
    "text", ["just words", "- name: x", "a: [", "- {name: x, workloads: [], workloadTemplate: []}"]
)
def test_a_file_that_is_something_else_is_a_problem(tmp_path: Path, text: str) -> None:
    file = tmp_path / "performance-config.yaml"
    file.write_text(text)
    with pytest.raises(Problem, match=r"performance-config\.yaml"):
        read([file])
