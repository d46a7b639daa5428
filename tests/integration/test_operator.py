"""The operator on a real API server: from a resource to what runs, and back, whatever is done to it on the way."""

import json
import threading
import time
import urllib.request
import uuid
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml

from kit.admin import Admin
from kit.component_faults import kill_api_server, wait_for_api_server
from kit.control_plane import ControlPlane
from kit.looking_glass import free_port
from kit.operator_stage import HASH, PROFILES, RELEASE, TROUBLE, Answers, OperatorStage
from localcluster.paths import REPOSITORY
from pilotage.config.load import load
from pilotage.plugins.catalogue import built_in

CRD = REPOSITORY / "charts/pilotage/files/crds/schedulerprofiles.pilotage.dev.yaml"
QUICK = {"progressDeadlineSeconds": 5}


@pytest.fixture(scope="module")
def served(control_plane: ControlPlane) -> Iterator[None]:
    """SchedulerProfiles are served while the tests of this file run."""
    definition = yaml.safe_load(CRD.read_text())
    control_plane.kubectl.apply(definition)
    name = f"crd/{definition['metadata']['name']}"
    control_plane.kubectl.until_established(name)
    yield
    control_plane.kubectl("delete", name)


@pytest.fixture
def stage(control_plane: ControlPlane, namespace: str, served: None, tmp_path: Path) -> Iterator[OperatorStage]:
    built = OperatorStage(control_plane, namespace, tmp_path)
    built.build()
    yield built
    built.clean()


@pytest.fixture
def name() -> str:
    return f"p-{uuid.uuid4().hex[:8]}"


def test_from_apply_to_ready_and_out_of_service(stage: OperatorStage, name: str) -> None:
    with stage.operator() as process, stage.playing():
        stage.apply(name, schedulerName=f"{name}-s", plugins=[{"name": "Priority", "weight": 3}], rollout=QUICK)
        stage.until_condition(name, "Ready", "True", "Acknowledged")
        status = stage.status(name)
        assert (status["replicas"], status["schedulerName"]) == ("2/2", f"{name}-s")
        assert status["instance"] == stage.instance
        assert "Priority" in status["plugins"]["score"]
        found = stage.admin.get(stage.config_map)
        assert found["metadata"]["annotations"][HASH] == status["configHash"]
        assert found["metadata"]["ownerReferences"][0]["name"] == "pilot-scheduler"
        loaded = load(stage.text(), built_in())
        assert [profile.scheduler_name for profile in loaded.config.profiles] == [f"{name}-s"]
        stage.until(lambda: "lastGood" in stage.status(name), "the trial is over")
        said = stage.kubectl("wait", "--for=condition=Ready", f"schedprof/{name}", "--timeout=5s")
        assert "condition met" in said
        told = stage.kubectl("describe", "schedprof", name)
        assert "Accepted" in told
        assert "Acknowledged" in told
        stage.admin.delete(f"{PROFILES}/{name}")
        stage.until(lambda: "idle.pilot" in stage.text(), "it is out of service")
        process.terminate()
        assert process.wait(60) == 0


def test_a_toggle_is_acknowledged_at_once(stage: OperatorStage, name: str) -> None:
    """The time is told, and judged with much room: this is no measurement."""
    with stage.operator(), stage.playing():
        stage.apply(name)
        stage.until_condition(name, "Ready", "True")
        took = []
        for enabled in (False, True) * 3:
            started = time.monotonic()
            stage.apply(name, plugins=[{"name": "ImageLocality", "enabled": enabled}])
            stage.until_condition(name, "Ready", "True", "Acknowledged")
            took.append(time.monotonic() - started)
        print("seconds from apply to acknowledged:", [f"{each:.3f}" for each in took])
        assert min(took) < 2


@pytest.mark.parametrize(
    ("spec", "reason", "words"),
    [
        pytest.param(
            {"plugins": [{"name": "ImageLocalty"}]},
            "UnknownPlugin",
            "did you mean 'ImageLocality'?",
            id="an unknown plugin",
        ),
        pytest.param(
            {"plugins": [{"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": "much"}}]},
            "Invalid",
            "spec.plugins[name=InterPodAffinity].args.hardPodAffinityWeight",
            id="an argument of the wrong type",
            marks=pytest.mark.full,
        ),
        pytest.param(
            {"schedulerName": "older-s"},
            "DuplicateSchedulerName",
            "older",
            id="a name that is taken",
            marks=pytest.mark.full,
        ),
        pytest.param(
            {"plugins": [{"name": "NodeAffinity", "args": {"text": "x" * 900_000}}]},
            "TooLarge",
            "the limit is 256",
            id="a body of 900 KB",
            marks=pytest.mark.full,
        ),
    ],
)
def test_each_bad_profile_says_why_and_stops_no_other(
    stage: OperatorStage, name: str, spec: dict[str, Any], reason: str, words: str
) -> None:
    with stage.operator(), stage.playing():
        stage.apply(f"older-{name}", schedulerName=f"older-s-{name}")
        stage.until_condition(f"older-{name}", "Ready", "True")
        if "schedulerName" in spec:
            spec = {"schedulerName": f"older-s-{name}"}
        stage.apply(name, **spec)
        stage.until_condition(name, "Accepted", "False", reason)
        assert words in stage.message(name, "Accepted")
        assert stage.condition(name, "Ready") == ("False", "NotAccepted")
        assert stage.condition(f"older-{name}", "Ready") == ("True", "Acknowledged")
        stage.apply(f"newer-{name}")
        stage.until_condition(f"newer-{name}", "Ready", "True")


def test_a_missing_permission_is_named_and_seen_when_it_is_given(stage: OperatorStage, name: str) -> None:
    binding = f"{stage.namespace}-plugins"
    given = stage.kubectl.get("clusterrolebinding", binding)
    stage.kubectl("delete", "clusterrolebinding", binding)
    with stage.operator(), stage.playing():
        stage.apply(name)
        stage.until_condition(name, "Accepted", "False", "MissingPermission")
        said = stage.message(name, "Accepted")
        assert "DefaultBinder requires create on pods/binding" in said
        assert f"system:serviceaccount:{stage.namespace}:pilot-scheduler is not granted" in said
        given["metadata"] = {"name": binding, "labels": given["metadata"]["labels"]}
        stage.kubectl.create(given)
        stage.until_condition(name, "Ready", "True")


@pytest.mark.full
def test_a_plugin_whose_resource_is_not_served_says_which(stage: OperatorStage, name: str) -> None:
    text = (
        "from pilotage.plugin import Permission, Score\n"
        "class WantsMore(Score):\n"
        '    """Wants a resource that nobody serves."""\n'
        '    permissions = (Permission("things.example.com", "things", ("list", "watch")),)\n'
        "    def score(self, cycle, pod, node):\n"
        "        return 0\n"
    )
    stage.kubectl.apply(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "more", "namespace": stage.namespace, "labels": {"pilotage.dev/plugins": RELEASE}},
            "data": {"wants_more.py": text},
        }
    )
    with stage.operator(), stage.playing():
        stage.apply(name, plugins=[{"name": "WantsMore"}])
        stage.until_condition(name, "Accepted", "False", "MissingCRD")
        assert "things.things.example.com" in stage.message(name, "Accepted")


def answers_badly(kind: str) -> Answers:
    def answer(found: str, text: str) -> Mapping[str, str | None]:
        if "percentageOfNodesToScore: 13\n" not in text:
            return {HASH: found, TROUBLE: None}
        trouble = {"kind": kind, "hash": found, "schedulerName": "rolled-s", "plugin": "P", "message": "oops"}
        return {TROUBLE: json.dumps(trouble)} | ({HASH: found} if kind == "failing" else {})

    return answer


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        pytest.param("refused", "Refused", marks=pytest.mark.full),
        ("failing", "PluginFailing"),
        pytest.param("silent", "NotAcknowledged", marks=pytest.mark.full),
    ],
)
def test_what_does_harm_is_taken_back_and_not_tried_again(
    stage: OperatorStage, name: str, kind: str, reason: str
) -> None:
    with stage.operator(), stage.playing(answers_badly(kind)):
        stage.apply(name, schedulerName="rolled-s", rollout=QUICK)
        stage.until(lambda: "lastGood" in stage.status(name), "the first spec ran well")
        good = stage.text()
        stage.apply(name, schedulerName="rolled-s", rollout=QUICK, percentageOfNodesToScore=13)
        stage.until(lambda: stage.text() != good, "it is tried")
        stage.until_condition(name, "RolledBack", "True", reason)
        stage.until(lambda: stage.text() == good, "the good one is back")
        stage.until(lambda: stage.status(name)["replicas"] == "2/2", "everybody runs it")
        assert stage.condition(name, "Ready") == ("False", "RolledBack")
        assert stage.condition(name, "Applied") == ("False", "LastGoodRunning")
        before = stage.admin.get(stage.config_map)["metadata"]["resourceVersion"]
        stage.kubectl("annotate", "schedprof", name, "look=again")
        time.sleep(1)
        assert stage.admin.get(stage.config_map)["metadata"]["resourceVersion"] == before
        stage.apply(name, schedulerName="rolled-s", rollout=QUICK, percentageOfNodesToScore=14)
        stage.until_condition(name, "Ready", "True", "Acknowledged")
        assert stage.condition(name, "RolledBack") == ("False", "NotRolledBack")


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(None, id="deleted", marks=pytest.mark.full),
        pytest.param({"data": {"scheduler-config.yaml": "profiles: []"}}, id="edited"),
        pytest.param({"data": None}, id="emptied", marks=pytest.mark.full),
        pytest.param(
            {"data": {"served.json": "{"}, "metadata": {"annotations": None}}, id="corrupted", marks=pytest.mark.full
        ),
    ],
)
def test_a_damaged_config_map_is_repaired(stage: OperatorStage, name: str, damage: dict[str, Any] | None) -> None:
    with stage.operator(), stage.playing():
        stage.apply(name)
        stage.until_condition(name, "Ready", "True")
        stage.apply(name, plugins=[{"name": "Nobody"}])
        stage.until_condition(name, "Accepted", "False", "UnknownPlugin")
        before = stage.admin.get(stage.config_map)["data"]
        if damage is None:
            stage.admin.delete(stage.config_map)
        else:
            stage.admin.patch(stage.config_map, damage)
        stage.until(lambda: (stage.admin.find(stage.config_map) or {}).get("data") == before, "it is repaired")


@pytest.mark.full
def test_restart_stamps_the_deployment(stage: OperatorStage, name: str) -> None:
    with stage.operator(), stage.playing():
        stage.apply(name)
        stage.until_condition(name, "Ready", "True")
        stage.apply(name, percentageOfNodesToScore=70, rollout={"strategy": "Restart"})
        stage.until_condition(name, "Ready", "True")
        deployment = stage.kubectl.get("deployment", "pilot-scheduler", "-n", stage.namespace)
        config_map = stage.admin.get(stage.config_map)["metadata"]["annotations"]
        assert config_map["pilotage.dev/strategy"] == "Restart"
        assert deployment["spec"]["template"]["metadata"]["annotations"][HASH] == config_map[HASH]


def test_profiles_of_the_values_are_kept(stage: OperatorStage, name: str, tmp_path: Path) -> None:
    values = tmp_path / "profiles.yaml"
    values.write_text(yaml.safe_dump([{"name": name, "spec": {"schedulerName": f"{name}-s"}}]))
    with stage.operator(f"--values-file={values}"), stage.playing():
        stage.until(lambda: stage.admin.find(f"{PROFILES}/{name}"), "it is made")
        stage.until_condition(name, "Ready", "True")
        owner = stage.admin.get(f"{PROFILES}/{name}")["metadata"]["ownerReferences"][0]
        assert (owner["kind"], owner["name"]) == ("ClusterRole", stage.owner)
        first = stage.admin.get(f"{PROFILES}/{name}")["metadata"]["uid"]
        stage.admin.delete(f"{PROFILES}/{name}")
        stage.until(
            lambda: (stage.admin.find(f"{PROFILES}/{name}") or {}).get("metadata", {}).get("uid", first) != first,
            "again",
        )
        values.write_text("[]")
        stage.until(lambda: stage.admin.find(f"{PROFILES}/{name}") is None, "it is gone with the values")


@pytest.mark.full
def test_two_releases_share_no_profile(
    control_plane: ControlPlane, stage: OperatorStage, name: str, tmp_path: Path
) -> None:
    """A second release, in another namespace, sees the same profiles and leaves them alone."""
    other_namespace = f"{stage.namespace}-2"
    control_plane.kubectl("create", "namespace", other_namespace)
    folder = tmp_path / "other"
    folder.mkdir()
    other = OperatorStage(control_plane, other_namespace, folder)
    try:
        other.build(1)
        with stage.operator(), stage.playing(), other.operator(), other.playing():
            stage.apply(name, instance="")
            stage.until(lambda: stage.status(name).get("instance"), "somebody took it")
            stage.until_condition(name, "Ready", "True")
            time.sleep(1)
            texts = {each.instance: each.text() for each in (stage, other)}
            taken = stage.status(name)["instance"]
            assert name in texts.pop(taken)
            assert name not in texts.popitem()[1]
        stage.admin.delete(f"{PROFILES}/{name}")
    finally:
        other.clean()
        control_plane.kubectl("delete", "namespace", other_namespace, "--wait=false")


@pytest.mark.full
def test_what_is_hardly_meant_is_warned_of(control_plane: ControlPlane, stage: OperatorStage, name: str) -> None:
    """A profile without filters; and one of default-scheduler, while the real kube-scheduler leads and after it."""
    leading = ("--leader-elect=true", "--leader-elect-resource-name=kube-scheduler")
    with stage.operator(), stage.playing():
        stage.apply(name, base="None")
        stage.until_condition(name, "Warning", "True", "NoFilters")
        stage.until_condition(name, "Ready", "True", "Acknowledged")
        with control_plane.kube_scheduler(*leading):
            stage.apply(name, schedulerName="default-scheduler")
            stage.until_condition(name, "Warning", "True", "SharedName")
            assert "kube-scheduler (" in stage.message(name, "Warning")
        stage.kubectl("delete", "lease", "kube-scheduler", "-n", "kube-system")
        stage.until_condition(name, "Warning", "False", "NoWarning")


@pytest.mark.full
def test_prometheus_can_see_who_is_not_accepted(stage: OperatorStage, name: str) -> None:
    port = free_port()
    with stage.operator(f"--metrics-port={port}"), stage.playing():
        stage.apply(name, plugins=[{"name": "Nobody"}])
        stage.until_condition(name, "Accepted", "False", "UnknownPlugin")
        line = f'{{profile="{name}",condition="Accepted",status="False",reason="UnknownPlugin"}} 1\n'
        stage.until(lambda: f"pilotage_operator_profile_condition{line}" in metrics(port), "it is in the metrics")
        stage.apply(name)
        stage.until(lambda: line not in metrics(port), "it is no more")
        assert "pilotage_operator_build_info{" in metrics(port)


def metrics(port: int) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        return str(answer.read().decode())


@pytest.mark.full
def test_killed_anywhere_it_is_finished_by_the_next(stage: OperatorStage, name: str) -> None:
    """Edits go on while the operator is killed at random moments; in the end everything is as it should be."""
    stopped = threading.Event()
    editor = threading.Thread(target=_edit, args=(stage, name, stopped))
    with stage.playing(answers_badly("refused")):
        editor.start()
        try:
            kills = stage.killed_at_random(25, seed=6)
        finally:
            stopped.set()
            editor.join()
        assert kills >= 8
        with stage.operator():
            stage.apply(f"{name}-0", schedulerName="rolled-s", percentageOfNodesToScore=99)
            stage.apply(f"{name}-1", plugins=[{"name": "Nobody"}])
            stage.apply(f"{name}-2", schedulerName=f"{name}-0")
            stage.until_condition(f"{name}-0", "Ready", "True", "Acknowledged")
            stage.until_condition(f"{name}-2", "Ready", "True", "Acknowledged")
            stage.until_condition(f"{name}-1", "Accepted", "False", "UnknownPlugin")
            stage.until_condition(f"{name}-1", "Ready", "False", "NotAccepted")
            hashes = {stage.status(f"{name}-{number}")["configHash"] for number in range(3)}
            assert hashes == {stage.admin.get(stage.config_map)["metadata"]["annotations"][HASH]}
            load(stage.text(), built_in())


@pytest.mark.full
def test_an_api_server_that_dies_and_a_crd_that_is_gone_for_a_while_are_survived(
    control_plane: ControlPlane, stage: OperatorStage, name: str
) -> None:
    definition = yaml.safe_load(CRD.read_text())
    crd = f"crd/{definition['metadata']['name']}"
    with stage.operator(faultless=False) as process:
        with stage.playing():
            stage.apply(name)
            stage.until_condition(name, "Ready", "True")
        for _ in range(3):
            wait_for_api_server(control_plane.cluster, kill_api_server(control_plane.cluster))
        stage.admin.close()
        stage.admin = Admin(control_plane.cluster)
        with stage.playing():
            stage.apply(name, percentageOfNodesToScore=80)
            stage.until_condition(name, "Ready", "True")
            control_plane.kubectl("delete", crd)
            time.sleep(2)
            control_plane.kubectl.apply(definition)
            control_plane.kubectl.until_established(crd)
            stage.until(
                lambda: control_plane.kubectl.attempt("get", "schedprof").returncode == 0, "profiles are served again"
            )
            stage.apply(name, percentageOfNodesToScore=81)
            stage.until_condition(name, "Ready", "True", seconds=120)
        assert process.poll() is None


def _edit(stage: OperatorStage, name: str, stopped: threading.Event) -> None:
    """Change three profiles all the time: good, refused, invalid, deleted; and the ConfigMap is deleted too."""
    own = OperatorStage(stage.control_plane, stage.namespace, stage.log.parent)
    with closing(Admin(stage.control_plane.cluster)) as own.admin:
        turn = 0
        while not stopped.wait(0.15):
            which, turn = f"{name}-{turn % 3}", turn + 1
            match turn % 7:
                case 0:
                    own.admin.delete(f"{PROFILES}/{which}")
                case 1:
                    own.apply(which, plugins=[{"name": "Nobody"}])
                case 2 if turn % 3 == 0:
                    own.admin.delete(own.config_map)
                case 3 if which.endswith("0"):
                    own.apply(which, schedulerName="rolled-s", percentageOfNodesToScore=13, rollout=QUICK)
                case _:
                    own.apply(which, percentageOfNodesToScore=turn % 90 + 1, rollout=QUICK)
