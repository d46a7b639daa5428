"""`pilotage convert`: what is printed, what is told beside it, and with which code it ends."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import Result

Pilotage = Callable[..., Result]
Write = Callable[..., str]

GROUP = "kubescheduler.config.k8s.io"
SAMPLES = Path(__file__).parents[4] / "shared/samples/scheduler-plugins"
OLD = """
apiVersion: kubescheduler.config.k8s.io/v1beta2
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
profiles:
- schedulerName: batch
  plugins:
    score:
      disabled: [{name: ImageLocality}]
      enabled: [{name: NodeResourcesFit, weight: 5}]
  pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated}}
"""


def config(version: str = "v1", **fields: Any) -> dict[str, Any]:
    return {"apiVersion": f"{GROUP}/{version}", "kind": "KubeSchedulerConfiguration", **fields}


def profiles(result: Result) -> dict[str, Any]:
    return {each["metadata"]["name"]: each["spec"] for each in yaml.safe_load_all(result.stdout)}


def test_an_older_configuration(pilotage: Pilotage, write: Write) -> None:
    file = write(OLD)
    result = pilotage("convert", file)
    assert result.exit_code == 0
    assert yaml.safe_load(result.stdout) == {
        "apiVersion": "pilotage.dev/v1alpha1",
        "kind": "SchedulerProfile",
        "metadata": {"name": "batch"},
        "spec": {
            "plugins": [
                {"name": "TaintToleration", "weight": 1},
                {"name": "NodeAffinity", "weight": 1},
                {"name": "NodeResourcesFit", "weight": 5, "args": {"scoringStrategy": {"type": "MostAllocated"}}},
                {"name": "InterPodAffinity", "weight": 1},
                {"name": "ImageLocality", "enabled": False},
            ]
        },
    }
    assert result.stderr.splitlines() == [
        f"note: {file}: batch: the weights of TaintToleration, NodeAffinity, InterPodAffinity are those of v1beta2; "
        "since v1beta3 they are 3, 2 and 2: remove the entries to use those",
        f"note: {file}: leaderElection is left out: use scheduler.leaderElect and scheduler.replicaCount of the chart",
    ]


@pytest.mark.parametrize("words", [[], ["-o", "config"]], ids=["profiles", "a configuration"])
def test_what_is_printed_is_right_itself(words: list[str], pilotage: Pilotage, write: Write) -> None:
    printed = pilotage("convert", write(OLD), *words).stdout
    file = write(printed, name="made.yaml")
    check = ["check-config", file] if words else ["check", "-f", file]
    assert pilotage(*check).exit_code == 0


def test_a_configuration_of_v1(pilotage: Pilotage, write: Write) -> None:
    result = pilotage("convert", write(OLD), "-o", "config")
    found = yaml.safe_load(result.stdout)
    assert (found["apiVersion"], found["leaderElection"]) == (f"{GROUP}/v1", {"leaderElect": False})
    assert found["profiles"][0]["plugins"]["multiPoint"]["disabled"] == [{"name": "ImageLocality"}]
    assert "left out" not in result.stderr


@pytest.mark.parametrize(
    "manifest",
    [
        pytest.param({"kind": "ConfigMap", "data": {"any": OLD, "readme": "text"}}, id="in a ConfigMap"),
        pytest.param({"kind": "ConfigMap", "data": {"json": json.dumps(yaml.safe_load(OLD))}}, id="as JSON"),
        pytest.param({"kind": "ConfigMapList", "items": [{"data": {"any": OLD}}]}, id="in a list of ConfigMaps"),
        pytest.param({"kind": "List", "items": [yaml.safe_load(OLD)]}, id="in a list"),
    ],
)
def test_where_a_configuration_may_be(manifest: dict[str, Any], pilotage: Pilotage, write: Write) -> None:
    bare = pilotage("convert", write(OLD, name="bare.yaml")).stdout
    assert pilotage("convert", write({"apiVersion": "v1", **manifest})).stdout == bare
    assert pilotage("convert", "-", stdin=yaml.safe_dump({"apiVersion": "v1", **manifest})).stdout == bare


def test_several_of_them(pilotage: Pilotage, write: Write) -> None:
    one = write(
        config(profiles=[{"schedulerName": "a"}, {"schedulerName": "b"}]), config(profiles=[{"schedulerName": "c"}])
    )
    result = pilotage("convert", one, write(OLD, name="old.yaml"))
    assert (result.exit_code, list(profiles(result))) == (0, ["a", "b", "c", "batch"])
    both = pilotage("convert", one, "-o", "config")
    assert len(list(yaml.safe_load_all(both.stdout))) == 2
    assert "a scheduler reads one configuration" in both.stderr


def test_two_for_one_scheduler_are_one_too_many(pilotage: Pilotage, write: Write) -> None:
    result = pilotage("convert", write(OLD), write(OLD, name="again.yaml"))
    assert result.exit_code == 1
    assert "batch: metadata.name: several profiles have this name" in result.stderr


def test_what_stands_outside_of_the_profiles(pilotage: Pilotage, write: Write) -> None:
    extender = {"urlPrefix": "http://x", "filterVerb": "f", "httpTimeout": "90s", "enableHTTPS": False}
    more: dict[str, Any] = {
        "percentageOfNodesToScore": 30,
        "parallelism": 4,
        "podMaxBackoffSeconds": 60,
        "extenders": [extender],
    }
    given = [{"schedulerName": "a"}, {"schedulerName": "b", "percentageOfNodesToScore": 50}]
    result = pilotage("convert", write(config(**more, profiles=given)))
    kept = {"extenders": [{"urlPrefix": "http://x", "filterVerb": "f", "httpTimeout": "1m30s"}]}
    assert profiles(result) == {
        "a": {"percentageOfNodesToScore": 30, **kept},
        "b": {"percentageOfNodesToScore": 50, **kept},
    }
    for word in ("parallelism", "podMaxBackoffSeconds", "extenders see the pods of all profiles"):
        assert word in result.stderr


@pytest.mark.parametrize(
    ("name", "metadata"), [("My_Scheduler", "my-scheduler"), ("team/batch", "team-batch"), ("x" * 70, "x" * 63)]
)
def test_a_name_that_no_resource_has(name: str, metadata: str, pilotage: Pilotage, write: Write) -> None:
    made = profiles(pilotage("convert", write(config(profiles=[{"schedulerName": name}]))))
    assert made == {metadata: {"schedulerName": name}}


def test_the_name_of_the_scheduler_that_is_there(pilotage: Pilotage, write: Write) -> None:
    result = pilotage("convert", write(config()))
    assert (result.exit_code, profiles(result)) == (0, {"default-scheduler": {}})
    assert "both would race for every pod" in result.stderr


def test_a_plugin_that_nobody_knows_stays(pilotage: Pilotage, write: Write) -> None:
    file = write(config(profiles=[{"schedulerName": "a", "plugins": {"score": {"enabled": [{"name": "NameScore"}]}}}]))
    result = pilotage("convert", file)
    assert (result.exit_code, profiles(result)) == (1, {"a": {"plugins": [{"name": "NameScore", "points": ["score"]}]}})
    assert "a plugin is one Python file" in result.stderr
    assert "a: spec.plugins[name=NameScore]: unknown plugin" in result.stderr
    folder = Path(__file__).parents[3] / "examples/plugins"
    known = pilotage("convert", file, "--plugin-dir", folder)
    assert (known.exit_code, profiles(known)) == (0, {"a": {"plugins": [{"name": "NameScore"}]}})


# --------------------------------------------------------------------------------------------------------------- values


def test_values_of_the_chart(pilotage: Pilotage, write: Write) -> None:
    file = write(
        "scheduler: {name: mine, image: x}\nplugins: {enabled: [podState, QOSSort], disabled: [PrioritySort]}\n"
    )
    result = pilotage("convert", file)
    entries = [{"name": "PodState"}, {"name": "QOSSort"}]
    assert (result.exit_code, profiles(result)) == (0, {"mine": {"plugins": entries}})
    assert "`helm install` with Pilotage's chart accepts this file unchanged" in result.stderr


def test_values_that_are_not_there_are_the_charts(pilotage: Pilotage, write: Write) -> None:
    (spec,) = profiles(pilotage("convert", write("controller: {replicaCount: 1}"))).values()
    names = [
        "Coscheduling",
        "CapacityScheduling",
        "NodeResourceTopologyMatch",
        "NodeResourcesAllocatable",
        "PrioritySort",
    ]
    assert [entry["name"] for entry in spec["plugins"]] == names
    assert spec["plugins"][0]["args"] == {"permitWaitingTimeSeconds": 10}


def test_values_without_plugins(pilotage: Pilotage, write: Write) -> None:
    result = pilotage("convert", write("plugins: {enabled: []}\npluginConfig: []"))
    assert (result.exit_code, profiles(result)) == (0, {"scheduler-plugins-scheduler": {}})
    assert "plugins.enabled is empty" in result.stderr


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("plugins: {enabled: [{name: Priority}]}", "values of Pilotage's chart need no conversion"),
        ("scheduler: {name: 5}", "scheduler.name: this must be a string"),
        ("plugins: 5", "plugins: this must be a map"),
    ],
)
def test_values_that_the_chart_does_not_take(text: str, told: str, pilotage: Pilotage, write: Write) -> None:
    result = pilotage("convert", write(text))
    assert (result.exit_code, result.stdout) == (2, "")
    assert told in result.stderr


# ----------------------------------------------------------------------------------------------- what is something else


@pytest.mark.parametrize(
    ("manifest", "told"),
    [
        ({"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "ElasticQuota"}, "an ElasticQuota: apply it as it is"),
        (
            {"apiVersion": "scheduling.sigs.k8s.io/v1alpha1", "kind": "PodGroup"},
            "a PodGroup of a removed group: change it to apiVersion: scheduling.x-k8s.io/v1alpha1, and apply it",
        ),
        (
            {
                "apiVersion": "networktopology.diktyo.x-k8s.io/v1alpha1",
                "kind": "NetworkTopology",
                "spec": {"weights": []},
            },
            "a NetworkTopology: apply it as it is",
        ),
        (
            {
                "apiVersion": "networktopology.diktyo.x-k8s.io/v1alpha1",
                "kind": "NetworkTopology",
                "spec": {"weights": [{"costList": []}]},
            },
            "a NetworkTopology of an older shape, which a cluster refuses",
        ),
        ({"apiVersion": "pilotage.dev/v1alpha1", "kind": "SchedulerProfile"}, "a SchedulerProfile already"),
        ({"apiVersion": "apps/v1", "kind": "Deployment"}, "a Deployment, which is not a scheduler configuration"),
        ({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}}, "a ConfigMap without a KubeSchedulerConf"),
        ({"apiVersion": "v1", "kind": "Policy"}, "a Policy, which kube-scheduler has not read since v1.23"),
        ({"some": "map"}, "not a scheduler configuration"),
        (["a list"], "not a map, so not a scheduler configuration"),
    ],
    ids=lambda value: "" if not isinstance(value, str) else value[:40],
)
def test_what_is_something_else_is_told(manifest: Any, told: str, pilotage: Pilotage, write: Write) -> None:
    file = write(manifest)
    result = pilotage("convert", file)
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"note: {file}: {told}" in result.stderr
    assert pilotage("convert", file, write(OLD, name="old.yaml")).exit_code == 0


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param("a: [", "document 1, line 2: ", id="no YAML"),
        pytest.param(yaml.safe_dump(config("v1alpha2")), "cannot be converted: use one of v1beta1,", id="too old"),
        pytest.param(yaml.safe_dump(config(profiles=5)), ":3: profiles: must be a list, not the number 5", id="a type"),
        pytest.param(
            yaml.safe_dump({"apiVersion": "v1", "kind": "ConfigMap", "data": {"k": f"{OLD}\n a: ["}}),
            "data[k]: ",
            id="no YAML in a ConfigMap",
        ),
        pytest.param(
            yaml.safe_dump(config(profiles=[{"plugins": {"queueSort": {"disabled": [{"name": "*"}]}}}])),
            "but got 0; no scheduler can run this, so there is nothing to convert",
            id="what no scheduler runs",
        ),
    ],
)
def test_what_cannot_be_converted(text: str, told: str, pilotage: Pilotage, write: Write) -> None:
    result = pilotage("convert", write(text))
    assert (result.exit_code, result.stdout) == (2, "")
    assert told in result.stderr


@pytest.mark.parametrize(
    ("profile", "told"),
    [
        pytest.param(
            {"plugins": {"score": {"enabled": [{"name": "PodState", "weight": 2_000_000}]}}},
            "spec.plugins[name=PodState].weight: input should be less than or equal to 1000000",
            id="a weight",
        ),
        pytest.param(
            {"pluginConfig": [{"name": "NodeResourcesFit", "args": ["x"]}]},
            "spec.plugins[name=NodeResourcesFit].args: input should be a valid dictionary",
            id="arguments that are no map",
        ),
        pytest.param(
            {"pluginConfig": [{"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "Any"}}}]},
            "spec.plugins[name=NodeResourcesFit].args.scoringStrategy.type: Unsupported value",
            id="an argument",
        ),
        pytest.param(
            {"pluginConfig": [{"name": "NodeAffinity", "args": {}}, {"name": "NodeAffinity", "args": {}}]},
            "pluginConfig: NodeAffinity is listed twice",
            id="arguments twice",
        ),
        pytest.param({"schedulerName": ""}, "spec.schedulerName: string should match", id="no name"),
    ],
)
def test_what_does_not_run_is_told_in_the_operators_words(
    profile: dict[str, Any], told: str, pilotage: Pilotage, write: Write
) -> None:
    result = pilotage("convert", write(config(profiles=[profile])))
    assert result.exit_code == 1
    assert told in result.stderr
    assert "pilotage failed" not in result.stderr


def test_a_configuration_that_does_not_run_is_told_in_kube_schedulers_words(pilotage: Pilotage, write: Write) -> None:
    result = pilotage("convert", write(config(parallelism=0)), "-o", "config")
    assert result.exit_code == 1
    assert "parallelism: Invalid value: 0: should be an integer value greater than zero" in result.stderr


# ----------------------------------------------------------------------------------------- samples of scheduler-plugins


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the samples of scheduler-plugins are not beside this folder")
def test_samples_of_scheduler_plugins(pilotage: Pilotage, write: Write) -> None:
    files = sorted(SAMPLES.glob("*.yaml"))
    assert len(files) >= 20
    for file in files:
        result = pilotage("convert", file)
        if "-example" in file.name:
            assert (result.exit_code, result.stdout) == (2, ""), file
            assert any(kind in result.stderr for kind in ("AppGroup", "ElasticQuota", "NetworkTopology")), file
            continue
        assert result.exit_code == 0, (file, result.stderr)
        assert pilotage("check", "-f", write(result.stdout, name="made.yaml")).exit_code == 0, file
        for document in yaml.safe_load_all(pilotage("convert", file, "-o", "config").stdout):
            made = pilotage("check-config", write(document, name="config.yaml"))
            assert (made.exit_code, made.stderr) == (0, ""), file


# ----------------------------------------------------------------------------------------------------- the printed page


def test_the_page_shows_what_is_printed(pilotage: Pilotage, monkeypatch: pytest.MonkeyPatch) -> None:
    root = Path(__file__).parents[3]
    monkeypatch.chdir(root)
    page = (root / "docs/migrate-from-scheduler-plugins.md").read_text()
    result = pilotage("convert", "examples/convert/scheduler-v1beta1.yaml")
    assert f"$ pilotage convert examples/convert/scheduler-v1beta1.yaml 2>&1\n{result.output}```" in page
