"""SchedulerProfile: what the model takes, what it refuses, and that the examples are what people can copy."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from pilotage.config.catalogue import ExtensionPoint
from pilotage.config.load import load
from pilotage.plugins.catalogue import built_in
from pilotage.scheduler_profiles.resource import API_VERSION, KIND, Point, Spec, Status

EXAMPLES = sorted((Path(__file__).parents[3] / "examples" / "profiles").glob("*.yaml"))
EXISTS = {"key": "example.com/gpu", "operator": "Exists"}
EXTENDER = {"urlPrefix": "https://broker.tools:8888/scheduler", "filterVerb": "filter"}


def plugin(**fields: Any) -> dict[str, Any]:
    return {"plugins": [{"name": "Priority"} | fields]}


def test_nothing_at_all_is_a_profile() -> None:
    spec = Spec.model_validate({})
    assert (spec.base, spec.plugins, spec.extenders) == ("Kubernetes", [], [])
    assert (spec.rollout.strategy, spec.rollout.progress_deadline_seconds) == ("HotReload", 60)


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"schedulerName": "default-scheduler"}, id="the name of the cluster's own scheduler"),
        pytest.param({"schedulerName": "example.com/Batch_1"}, id="a name with a prefix"),
        pytest.param({"schedulerName": "x" * 63}, id="the longest name"),
        pytest.param({"instance": ""}, id="an empty instance, as templates write it"),
        pytest.param({"instance": "pilotage"}, id="a release by name"),
        pytest.param({"instance": "kube-system/pilotage.v2"}, id="a release by namespace and name"),
        pytest.param(
            plugin(enabled=False, weight=3, args={"labelKey": "x"}), id="a disabled plugin that keeps the rest"
        ),
        pytest.param(plugin(points=[point.value for point in Point]), id="all points"),
        pytest.param({"extenders": [EXTENDER | {"httpTimeout": "1m1.5s", "enableHTTPS": True}]}, id="an extender"),
        pytest.param({"rollout": {"strategy": "Restart"}}, id="a rollout"),
        pytest.param({"sharing": {"guard": False, "spread": 0, "victims": ["*"]}}, id="how to share the cluster"),
        pytest.param(
            {"nodes": {"selector": {"matchLabels": {"pool": "batch"}, "matchExpressions": [EXISTS]}, "taint": True}},
            id="nodes of its own",
        ),
    ],
)
def test_taken_and_given_back_as_it_was(spec: dict[str, Any]) -> None:
    taken = Spec.model_validate(spec)
    assert taken.model_dump(by_alias=True, exclude_unset=True, mode="json") == spec


@pytest.mark.parametrize(
    ("spec", "where"),
    [
        pytest.param({"schedulerNames": "x"}, "schedulerNames", id="an unknown field"),
        pytest.param({"schedulerName": ""}, "schedulerName", id="an empty name"),
        pytest.param({"schedulerName": "two words"}, "schedulerName", id="a name that no event can have"),
        pytest.param({"schedulerName": "x" * 64}, "schedulerName", id="a name that is too long for events"),
        pytest.param({"schedulerName": "Example/x"}, "schedulerName", id="a prefix that is no domain"),
        pytest.param({"instance": "a/b/c"}, "instance", id="a release with too many parts"),
        pytest.param({"base": "none"}, "base", id="a base in lower case"),
        pytest.param({"percentageOfNodesToScore": 101}, "percentageOfNodesToScore", id="more than all nodes"),
        pytest.param({"percentageOfNodesToScore": "5"}, "percentageOfNodesToScore", id="a number in quotes"),
        pytest.param(plugin(name=""), "name", id="a plugin without a name"),
        pytest.param(plugin(weight=-1), "weight", id="a negative weight"),
        pytest.param(plugin(weight=0), "weight", id="a weight of zero"),
        pytest.param(plugin(weight=True), "weight", id="a weight that is no number"),
        pytest.param(plugin(enabled="false"), "enabled", id="a word for a truth"),
        pytest.param(plugin(points=[]), "points", id="no points"),
        pytest.param(plugin(points=["Score"]), "points", id="an unknown point"),
        pytest.param(plugin(args=[]), "args", id="arguments that are no map"),
        pytest.param({"plugins": [{"name": f"P{i}"} for i in range(201)]}, "plugins", id="too many plugins"),
        pytest.param({"extenders": [EXTENDER] * 17}, "extenders", id="too many extenders"),
        pytest.param({"extenders": [EXTENDER | {"httpTimeout": "5"}]}, "httpTimeout", id="a duration without a unit"),
        pytest.param({"extenders": [EXTENDER | {"urlPrefix": "broker:80"}]}, "urlPrefix", id="an address without http"),
        pytest.param({"rollout": {"strategy": "Recreate"}}, "strategy", id="an unknown strategy"),
        pytest.param({"sharing": {"guard": "On"}}, "guard", id="a word for a truth that YAML reads as one"),
        pytest.param({"sharing": {"victims": [""]}}, "victims", id="a victim of nobody"),
        pytest.param({"nodes": {"selector": {"labels": {}}}}, "labels", id="an unknown field of a selector"),
        pytest.param({"rollout": {"progressDeadlineSeconds": 4}}, "progressDeadlineSeconds", id="no time at all"),
    ],
)
def test_refused_where_it_is_wrong(spec: dict[str, Any], where: str) -> None:
    with pytest.raises(ValidationError) as refused:
        Spec.model_validate(spec)
    assert any(where in error["loc"] for error in refused.value.errors())


def test_a_status_is_given_back_as_it_was() -> None:
    condition = {"type": "Ready", "status": "True", "reason": "Acknowledged", "message": "all replicas run it"}
    status = {
        "observedGeneration": 2,
        "instance": "kube-system/pilotage",
        "conditions": [condition | {"lastTransitionTime": "2030-01-01T00:00:00Z", "observedGeneration": 2}],
        "replicas": "2/2",
        "plugins": {"score": ["Priority", "ImageLocality"]},
        "lastGood": {"generation": 1, "specHash": "0123456789abcdef", "spec": {"plugins": [{"name": "Priority"}]}},
        "failed": {"specHash": "fedcba9876543210", "reason": "Refused", "message": "no such plugin"},
    }
    assert Status.model_validate(status).model_dump(by_alias=True, exclude_unset=True) == status


def test_points_are_those_of_the_scheduler() -> None:
    of_groups = {
        ExtensionPoint.PLACEMENT_GENERATE,
        ExtensionPoint.PLACEMENT_SCORE,
        ExtensionPoint.POD_GROUP_POST_FILTER,
    }
    assert {point.value for point in Point} == {point.value for point in ExtensionPoint if point not in of_groups}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_are_profiles(path: Path) -> None:
    example = yaml.safe_load(path.read_text())
    assert (example["apiVersion"], example["kind"]) == (API_VERSION, KIND)
    assert example["metadata"]["name"] == path.stem
    spec = Spec.model_validate(example["spec"])
    assert spec.model_dump(by_alias=True, exclude_unset=True, mode="json") == example["spec"]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_the_plugins_of_examples_exist_and_take_their_arguments(path: Path) -> None:
    plugins = yaml.safe_load(path.read_text())["spec"].get("plugins", [])
    profile = {
        "plugins": {"multiPoint": {"enabled": [{"name": entry["name"]} for entry in plugins]}},
        "pluginConfig": [{"name": entry["name"], "args": entry["args"]} for entry in plugins if "args" in entry],
    }
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    (loaded,) = load(yaml.safe_dump(head | {"profiles": [profile]}), built_in()).config.profiles
    assert {entry["name"] for entry in plugins} <= {entry.name for entry in loaded.plugins.multi_point.enabled}


def test_there_are_examples() -> None:
    assert {path.stem for path in EXAMPLES} >= {"spread", "bin-packing", "priority"}
