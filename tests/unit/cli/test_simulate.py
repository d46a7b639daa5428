"""`pilotage simulate`: what it prints, and with which code it ends."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import Result

from pilotage.testing import node_manifest, pod_manifest

Pilotage = Callable[..., Result]
Write = Callable[..., str]

ROOT = Path(__file__).parents[3]
CLUSTER, WEB = ROOT / "examples/cluster.yaml", ROOT / "examples/web.yaml"
KEYS = [
    "namespace",
    "name",
    "schedulerName",
    "node",
    "message",
    "reason",
    "nominatedNode",
    "victims",
    "scores",
    "allocations",
]
CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
DEPLOYMENT = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}}
FAILED = pod_manifest("p") | {"status": {"phase": "Failed"}}
TOO_LARGE = (
    "0/2 nodes are available: 2 Insufficient cpu. preemption: 0/2 nodes are available: "
    "2 Preemption is not helpful for scheduling."
)


def nodes_of(result: Result) -> dict[str, str | None]:
    return {pod["name"]: pod["node"] for pod in json.loads(result.stdout)}


def test_the_example_of_the_readme(pilotage: Pilotage) -> None:
    result = pilotage("simulate", "-f", CLUSTER, "-f", WEB)
    assert result.exit_code == 3
    assert [line.split()[:3] for line in result.stdout.splitlines()] == [
        ["NAMESPACE", "NAME", "NODE"],
        ["default", "web-1", "n2"],
        ["default", "web-2", "n1"],
        ["default", "report", "-"],
    ]
    assert "0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu." in result.stdout
    assert result.stderr == "3 pods: 2 placed, 1 waiting\n"


def test_the_readme_shows_what_the_example_really_prints(pilotage: Pilotage) -> None:
    readme = (ROOT / "README.md").read_text()
    for words in ((), ("--explain", "report"), ("--plugin-dir", ROOT / "examples/plugins", "--explain", "web-1")):
        printed = pilotage("simulate", "-f", CLUSTER, "-f", WEB, *words).stdout
        for line in printed.splitlines():
            assert line in readme


def test_all_placed_is_0(pilotage: Pilotage, write: Write) -> None:
    result = pilotage("simulate", "-f", write(node_manifest("n1"), pod_manifest("p", cpu=1)))
    assert (result.exit_code, result.stderr) == (0, "1 pod: 1 placed\n")


def test_json_is_a_list_with_these_fields(pilotage: Pilotage, write: Write) -> None:
    file = write(node_manifest("n1"), node_manifest("n2"), pod_manifest("p", cpu=1), pod_manifest("q", cpu=9))
    result = pilotage("simulate", "-f", file, "-o", "json")
    assert result.exit_code == 3
    placed, waiting = json.loads(result.stdout)
    assert list(placed) == KEYS
    assert (placed["namespace"], placed["name"], placed["schedulerName"]) == ("default", "p", "default-scheduler")
    assert placed["node"] in ("n1", "n2")
    assert placed["scores"]["NodeResourcesFit"] == {"raw": 87, "normalized": 87, "weight": 1, "weighted": 87}
    assert placed["scores"]["TaintToleration"] == {"raw": 0, "normalized": 100, "weight": 3, "weighted": 300}
    assert waiting["node"] is None
    assert waiting["message"] == TOO_LARGE
    assert waiting["scores"] == {}


def test_yaml_holds_the_same(pilotage: Pilotage) -> None:
    as_json = pilotage("simulate", "-f", CLUSTER, "-f", WEB, "-o", "json")
    as_yaml = pilotage("simulate", "-f", CLUSTER, "-f", WEB, "-o", "yaml")
    assert yaml.safe_load(as_yaml.stdout) == json.loads(as_json.stdout)


def test_the_same_seed_gives_the_same_answer(pilotage: Pilotage, write: Write) -> None:
    file = write(*(node_manifest(f"n{i}") for i in range(20)), pod_manifest("p"))
    answers = {seed: nodes_of(pilotage("simulate", "-f", file, "--seed", seed, "-o", "json")) for seed in range(8)}
    again = {seed: nodes_of(pilotage("simulate", "-f", file, "--seed", seed, "-o", "json")) for seed in range(8)}
    assert answers == again
    assert len({answer["p"] for answer in answers.values()}) > 1


def test_files_may_follow_one_dash_f(pilotage: Pilotage) -> None:
    assert pilotage("simulate", "-f", CLUSTER, WEB).stdout == pilotage("simulate", "-f", CLUSTER, "-f", WEB).stdout


def test_standard_input(pilotage: Pilotage) -> None:
    result = pilotage("simulate", "-f", CLUSTER, "-f", "-", stdin=WEB.read_text())
    assert result.stdout == pilotage("simulate", "-f", CLUSTER, "-f", WEB).stdout


def test_important_pods_go_first(pilotage: Pilotage, write: Write) -> None:
    file = write(node_manifest("n1", cpu=1), pod_manifest("a", cpu=1), pod_manifest("b", cpu=1, spec={"priority": 5}))
    assert nodes_of(pilotage("simulate", "-f", file, "-o", "json")) == {"b": "n1", "a": None}


def test_victims_are_told(pilotage: Pilotage, write: Write) -> None:
    file = write(
        node_manifest("n1", cpu=1),
        pod_manifest("small", cpu=1, node="n1"),
        pod_manifest("large", cpu=1, priority_class="system-node-critical"),
    )
    (pod,) = json.loads(pilotage("simulate", "-f", file, "-o", "json").stdout)
    assert (pod["node"], pod["victims"]) == ("n1", ["default/small"])
    assert "VICTIMS" in pilotage("simulate", "-f", file).stdout


@pytest.mark.parametrize(
    ("manifests", "told"),
    [
        pytest.param([CONFIG_MAP], "1 object of other kinds (ConfigMap) was ignored", id="another kind"),
        pytest.param([DEPLOYMENT], "only pods are scheduled, not their controllers (Deployment)", id="a controller"),
        pytest.param([pod_manifest("p", scheduler="x")], "no profile has their schedulerName (x)", id="name"),
        pytest.param([pod_manifest("p", node="gone")], "their nodes are not in the files (gone): 1", id="a lost pod"),
        pytest.param([node_manifest("n1", pods=0)], "status.allocatable has no `pods` (n1): 1", id="a node for none"),
        pytest.param([FAILED], "1 pod that had finished was ignored", id="a pod that has ended"),
    ],
)
def test_what_plays_no_part_is_told_beside_the_answer(
    manifests: list[Any], told: str, pilotage: Pilotage, write: Write
) -> None:
    result = pilotage("simulate", "-f", write(*manifests), "-o", "json")
    assert (result.exit_code, result.stdout) == (0, "[]\n")
    assert told in result.stderr


# ------------------------------------------------------------------------------------------------------------ explain


def test_explain_a_pod_that_waits(pilotage: Pilotage) -> None:
    result = pilotage("simulate", "-f", CLUSTER, "-f", WEB, "--explain", "report")
    title, header, *lines = result.stdout.splitlines()
    assert title.startswith("report  waits: 0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insuff")
    assert header.split() == ["NODE", "FITS", "BECAUSE"]
    assert [" ".join(line.split()) for line in lines] == [
        "n1 no NodeResourcesFit: Insufficient cpu (wants 3.5, 1.5 of 4 free)",
        "n2 no NodeResourcesFit: Insufficient cpu (wants 3.5, 3 of 4 free)",
        "gpu-1 no TaintToleration: node(s) had untolerated taint(s) (dedicated=gpu:NoSchedule)",
        "What would help, each tried on this cluster (-o yaml has the patches):",
        "owner: ask for cpu 3 instead of 3.5: fits on n2",
        "owner: tolerate dedicated=gpu:NoSchedule: fits on gpu-1",
        "admin: remove the taint dedicated=gpu:NoSchedule from gpu-1",
        "admin: move default/cache off n2",
        "admin: add one more node like n1 (a)",
    ]


def test_explain_a_pod_that_was_scored(pilotage: Pilotage) -> None:
    result = pilotage("simulate", "-f", CLUSTER, "-f", WEB, "--explain", "default/web-2")
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert lines[0] == "web-2 goes to n1"
    assert "InterPodAffinity x2" in lines[1]
    assert lines[2].startswith("n1 yes 0 -> 100 40 -> 40 0 -> 100 ")
    assert lines[3].startswith("n2 yes 0 -> 100 62 -> 62 -200 -> 0 ")
    assert int(lines[2].split()[-1]) > int(lines[3].split()[-1])


def test_explain_as_json(pilotage: Pilotage) -> None:
    found = json.loads(pilotage("simulate", "-f", CLUSTER, "-f", WEB, "--explain", "report", "-o", "json").stdout)
    assert list(found) == [*KEYS, "before", "gang", "nodes", "remedies", "remediesNote"]
    assert found["nodes"][0] == {
        "node": "n1",
        "fits": False,
        "plugin": "NodeResourcesFit",
        "reasons": ["Insufficient cpu"],
        "details": ["wants 3.5, 1.5 of 4 free"],
        "spared": "",
        "preemptionHelps": True,
        "scores": {},
        "total": 0,
    }


@pytest.mark.parametrize(
    ("pod", "told"),
    [
        pytest.param(
            pod_manifest("p", gates=["later"]), "p  waits: waiting for scheduling gates: [later]", id="behind a gate"
        ),
        pytest.param(
            pod_manifest("p", spec={"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "no"}}]}),
            'Before any node was considered, VolumeRestrictions said: persistentvolumeclaim "no" not found',
            id="before any node",
        ),
        pytest.param(pod_manifest("p"), "the only node that fits, so it needs no score", id="one node"),
    ],
)
def test_explain_what_has_no_scores(pod: dict[str, Any], told: str, pilotage: Pilotage, write: Write) -> None:
    result = pilotage("simulate", "-f", write(node_manifest("n1"), pod), "--explain", "p")
    assert told in result.stdout


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        pytest.param("nobody", "there is no pending pod nobody in the files", id="unknown"),
        pytest.param("twice", "there are several pods twice; write a/twice or b/twice", id="in two namespaces"),
        pytest.param("placed", "pod default/placed is on node n1 already", id="placed"),
        pytest.param("foreign", "no profile has the schedulerName of pod default/foreign", id="foreign"),
    ],
)
def test_a_pod_that_cannot_be_explained(asked: str, told: str, pilotage: Pilotage, write: Write) -> None:
    file = write(
        node_manifest("n1"),
        pod_manifest("twice", namespace="a"),
        pod_manifest("twice", namespace="b"),
        pod_manifest("placed", node="n1"),
        pod_manifest("foreign", scheduler="other"),
    )
    result = pilotage("simulate", "-f", file, "--explain", asked)
    assert result.exit_code == 2
    assert told in result.stderr


# ----------------------------------------------------------------------------------------------------------- replicas


@pytest.mark.parametrize(
    ("words", "names"),
    [
        pytest.param(["3"], ["a-1", "a-2", "a-3", "b-1", "b-2", "b-3"], id="of all"),
        pytest.param(["a=2"], ["a-1", "a-2", "b"], id="of one"),
        pytest.param(["2", "default/b=1"], ["a-1", "a-2", "b"], id="of all but one"),
    ],
)
def test_replicas(words: list[str], names: list[str], pilotage: Pilotage, write: Write) -> None:
    file = write(node_manifest("n1"), pod_manifest("a"), pod_manifest("b"), pod_manifest("running", node="n1"))
    asked = [part for word in words for part in ("--replicas", word)]
    assert sorted(nodes_of(pilotage("simulate", "-f", file, "-o", "json", *asked))) == names


@pytest.mark.parametrize("count", ["0", "-1", "many", "a=", "a=x", "nobody=2", "a=0"])
def test_replicas_that_make_no_sense(count: str, pilotage: Pilotage, write: Write) -> None:
    assert pilotage("simulate", "-f", write(pod_manifest("a")), f"--replicas={count}").exit_code == 2


def test_a_replica_must_not_take_the_name_of_another_pod(pilotage: Pilotage, write: Write) -> None:
    result = pilotage("simulate", "-f", write(pod_manifest("a"), pod_manifest("a-1")), "--replicas", "a=2")
    assert result.exit_code == 2
    assert "the name default/a-1 of a replica is already used by another pod" in result.stderr


# ---------------------------------------------------------------------------------------------- configuration, plugins


def test_a_profile_decides_for_the_pods_that_name_it(pilotage: Pilotage, write: Write) -> None:
    config = write(
        """
        apiVersion: kubescheduler.config.k8s.io/v1
        kind: KubeSchedulerConfiguration
        profiles:
        - schedulerName: packing
          pluginConfig:
          - name: NodeResourcesFit
            args: {scoringStrategy: {type: MostAllocated}}
          plugins:
            score: {disabled: [{name: NodeResourcesBalancedAllocation}]}
        """,
        name="config.yaml",
    )
    nodes = [node_manifest("n1"), node_manifest("n2"), pod_manifest("there", cpu=1, memory="4Gi", node="n1")]
    file = write(*nodes, pod_manifest("p", cpu=1, memory="1Gi", scheduler="packing"), pod_manifest("q", cpu=1))
    packed = pilotage("simulate", "--config", config, "-f", file, "-o", "json")
    assert nodes_of(packed) == {"p": "n1"}
    assert "no profile has their schedulerName (default-scheduler): 1" in packed.stderr


def test_a_wrong_configuration_is_told_in_full(pilotage: Pilotage, write: Write) -> None:
    config = write(
        """
        apiVersion: kubescheduler.config.k8s.io/v1
        kind: KubeSchedulerConfiguration
        parallelism: 0
        podInitialBackoffSeconds: 0
        """,
        name="config.yaml",
    )
    result = pilotage("simulate", "--config", config, "-f", CLUSTER)
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 2


def test_extenders_are_not_asked_and_it_says_so(pilotage: Pilotage, write: Write) -> None:
    config = write(
        """
        apiVersion: kubescheduler.config.k8s.io/v1
        kind: KubeSchedulerConfiguration
        extenders: [{urlPrefix: "http://localhost:1", filterVerb: filter}]
        """,
        name="config.yaml",
    )
    result = pilotage("simulate", "--config", config, "-f", CLUSTER, "-f", WEB)
    assert result.exit_code == 3
    assert "the configuration's extenders are not called" in result.stderr


def test_plugins_of_a_folder_take_part_with_no_other_change(pilotage: Pilotage, write: Write) -> None:
    file = write(*(node_manifest(f"n{i}") for i in (3, 90, 7)), pod_manifest("p"))
    folder = ROOT / "examples/plugins"
    (pod,) = json.loads(pilotage("simulate", "--plugin-dir", folder, "-f", file, "-o", "json").stdout)
    assert pod["node"] == "n90"
    assert pod["scores"]["NameScore"] == {"raw": 90, "normalized": 90, "weight": 1, "weighted": 90}


def test_the_plugin_of_the_examples_is_short() -> None:
    assert len((ROOT / "examples/plugins/name_score.py").read_text().splitlines()) <= 15


@pytest.mark.parametrize(
    ("plugins", "weight"),
    [
        pytest.param("{score: {enabled: [{name: NameScore, weight: 7}]}}", 7, id="enabled with a weight"),
        pytest.param("{multiPoint: {disabled: [{name: NameScore}]}}", None, id="disabled"),
        pytest.param("{score: {disabled: [{name: NameScore}]}}", None, id="disabled where it scores"),
        pytest.param("{}", 1, id="not named"),
    ],
)
def test_a_configuration_that_names_a_plugin_of_the_folder_has_the_last_word(
    plugins: str, weight: int | None, pilotage: Pilotage, write: Write
) -> None:
    config = write(
        f"""
        apiVersion: kubescheduler.config.k8s.io/v1
        kind: KubeSchedulerConfiguration
        profiles:
        - schedulerName: default-scheduler
          plugins: {plugins}
        """,
        name="config.yaml",
    )
    file = write(node_manifest("n1"), node_manifest("n2"), pod_manifest("p"))
    words = ("--config", config, "--plugin-dir", ROOT / "examples/plugins", "-f", file, "-o", "json")
    (pod,) = json.loads(pilotage("simulate", *words).stdout)
    assert pod["scores"].get("NameScore", {}).get("weight") == weight


# ------------------------------------------------------------------------------------------------------- what is wrong


def test_bad_files_are_told_with_file_document_and_path(pilotage: Pilotage, write: Write) -> None:
    result = pilotage("simulate", "-f", write(node_manifest("n1"), pod_manifest("web-1", cpu="1x")))
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.endswith(
        "input.yaml, document 2 (Pod default/web-1): spec.containers[0].resources.requests[cpu]: "
        "'1x' is not a quantity: write it like 2, 0.5, 500m, 1e3 or 4Gi\n"
    )


@pytest.mark.parametrize(
    "words",
    [
        pytest.param([], id="no files"),
        pytest.param(["-f", "/nowhere/at/all.yaml"], id="no such file"),
        pytest.param(["-f", str(CLUSTER), "--config", "/nowhere.yaml"], id="no such configuration"),
        pytest.param(["-f", str(CLUSTER), "--plugin-dir", "/nowhere"], id="no such folder of plugins"),
        pytest.param(["-f", str(CLUSTER), "-o", "xml"], id="no such format"),
        pytest.param(["-f", str(CLUSTER), "--seed", "x"], id="a seed that is no number"),
        pytest.param(["-f", str(CLUSTER), "--frobnicate"], id="no such option"),
    ],
)
def test_bad_input_is_2_and_a_sentence(words: list[str], pilotage: Pilotage) -> None:
    result = pilotage("simulate", *words)
    assert result.exit_code == 2
    assert result.stderr


def test_a_surprise_is_1_and_a_sentence_unless_asked_for(
    pilotage: Pilotage, monkeypatch: pytest.MonkeyPatch, write: Write
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("the roof fell in")

    monkeypatch.setattr("pilotage.cli.simulating.read_manifests", fail)
    result = pilotage("simulate", "-f", CLUSTER)
    assert (result.exit_code, result.stderr) == (
        1,
        "pilotage failed: RuntimeError: the roof fell in (-v shows the traceback)\n",
    )


def test_tracebacks_are_there_for_the_asking(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("[")
    program = Path(sys.executable).with_name("pilotage")
    for words, shown in (([], False), (["-v"], True)):
        done = subprocess.run(
            [program, "simulate", "-f", tmp_path / "bad.yaml", *words], capture_output=True, text=True, check=False
        )
        assert done.returncode == 2
        assert ("Traceback" in done.stderr) is shown


def test_the_program_in_a_process_of_its_own() -> None:
    program = Path(sys.executable).with_name("pilotage")
    done = subprocess.run(
        [program, "simulate", "-f", CLUSTER, "-f", WEB, "-o", "json"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 3
    assert [pod["node"] for pod in json.loads(done.stdout)] == ["n2", "n1", None]


def test_a_reader_that_goes_away_is_no_failure() -> None:
    program = Path(sys.executable).with_name("pilotage")
    command = f"{program} simulate -f {CLUSTER} -f {WEB} --replicas 500 -o json | head -c 10"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr


PROFILE = {
    "apiVersion": "pilotage.dev/v1alpha1",
    "kind": "SchedulerProfile",
    "metadata": {"name": "names"},
    "spec": {"plugins": [{"name": "ScoreByNameLength", "weight": 100}]},
}
NAMED = [node_manifest("short"), node_manifest("a-much-longer-name"), pod_manifest("p", scheduler="names")]


@pytest.mark.parametrize("by", ["-f", "--config"])
def test_a_scheduler_profile_is_a_configuration(by: str, pilotage: Pilotage, write: Write) -> None:
    profile = write(PROFILE, name="profile.yaml")
    result = pilotage("simulate", "-f", write(*NAMED), by, profile, "-o", "json")
    assert (result.exit_code, result.stderr) == (0, "")
    assert [(each["schedulerName"], "ScoreByNameLength" in each["scores"]) for each in json.loads(result.stdout)] == [
        ("names", True)
    ]


def test_several_scheduler_profiles(pilotage: Pilotage, write: Write) -> None:
    other = {**PROFILE, "metadata": {"name": "other"}, "spec": {}}
    pods = [*NAMED, pod_manifest("q", scheduler="other"), pod_manifest("r")]
    result = pilotage("simulate", "-f", write(*pods, PROFILE, other), "-o", "json")
    assert {each["name"]: each["schedulerName"] for each in json.loads(result.stdout)} == {"p": "names", "q": "other"}
    assert "(default-scheduler): 1; the profiles are names, other" in result.stderr


def test_a_configuration_that_is_named_goes_before_profiles_among_manifests(pilotage: Pilotage, write: Write) -> None:
    config = write("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n", name="config.yaml")
    result = pilotage("simulate", "-f", write(*NAMED, PROFILE), "--config", config)
    assert f"profiles in the files that are ignored in favour of --config {config}: 1" in result.stderr


def test_a_scheduler_profile_that_cannot_run(pilotage: Pilotage, write: Write) -> None:
    file = write(*NAMED, {**PROFILE, "spec": {"plugins": [{"name": "Nobody"}]}})
    result = pilotage("simulate", "-f", file)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"{file}, document 4 (SchedulerProfile names): spec.plugins[name=Nobody]: unknown plugin\n"


def test_a_folders_plugin_takes_part_only_if_the_profile_names_it(pilotage: Pilotage, write: Write) -> None:
    folder, file = ROOT / "examples/plugins", write(*NAMED, PROFILE)
    named = write(*NAMED, {**PROFILE, "spec": {"plugins": [{"name": "NameScore"}]}}, name="named.yaml")
    scores = [
        json.loads(pilotage("simulate", "-f", each, "--plugin-dir", folder, "-o", "json").stdout)[0]["scores"]
        for each in (file, named)
    ]
    assert ["NameScore" in each for each in scores] == [False, True]
