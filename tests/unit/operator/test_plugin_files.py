"""Plugin files travel with the profiles that need them: judged, applied, acknowledged and rolled back as one unit."""

import json
from datetime import timedelta
from typing import Any

import pytest

from kit.profile_world import REFUSED, ProfileWorld
from pilotage.app import unit_configured
from pilotage.config.handshake import HASH, TROUBLE, TRYING, PluginFile, unit_hash, unit_in
from pilotage.plugins.catalogue import built_in
from pilotage.scheduler_profiles.judge import Judge
from pilotage_operator.profiles.actions import WakeUp
from pilotage_operator.profiles.config_map import is_intact
from pilotage_operator.profiles.plugin_library import library
from pilotage_operator.profiles.reconcile import reconcile
from pilotage_operator.profiles.unit_judge import UnitJudge
from pilotage_operator.sandbox.answering import answer
from pilotage_operator.sandbox.client import SandboxFailed
from pilotage_operator.sandbox.records import Answer, Question

D = 60
PATH = "mine/tidy.py"
BROKEN = "class Tidy(\n"
USES: dict[str, Any] = {"plugins": [{"name": "Tidy"}]}
OFF: dict[str, Any] = {"plugins": [{"name": "Tidy", "enabled": False}]}


def text(number: int, name: str = "Tidy") -> str:
    return f"""
from pilotage.framework.api.plugin import STATIC, Score


class {name}(Score):
    most: int = {number}
    depends_on = STATIC

    def score(self, cycle, pod, node):
        return {number}
"""


class InThisProcess:
    """Answers as the sandbox does, or not at all."""

    is_away = False

    def ask(self, question: Question) -> Answer:
        if self.is_away:
            raise SandboxFailed("away")
        return answer(question, built_in())


class Stage:
    """A cluster in memory, and an operator that looks after it."""

    def __init__(self) -> None:
        self.world = ProfileWorld()
        self.restart_operator()

    def restart_operator(self, *, without_sandbox: bool = False) -> None:
        self.sandbox = InThisProcess()
        self.sandbox.is_away = without_sandbox
        self.judge = UnitJudge(Judge(built_in()), self.sandbox)

    def round(self) -> None:
        for action in reconcile(self.world.world(), self.world.settings, self.judge):
            self.world.do(action)

    def once(self) -> None:
        self.round()
        told = ("WriteFileEvent",)
        again = reconcile(self.world.world(), self.world.settings, self.judge)
        assert [each for each in again if not isinstance(each, WakeUp) and type(each).__name__ not in told] == []
        assert is_intact(self.world.world().config_map)

    def settle(self, seconds: float = 0.0) -> None:
        for _ in range(3):
            self.once()
            self.world.react()
        self.once()
        if seconds:
            self.world.now += timedelta(seconds=seconds)
            self.settle()

    def file(self, content: str | None, path: str = PATH) -> None:
        if content is None:
            del self.world.files[path]
        else:
            self.world.files[path] = content

    def proven(self, spec: dict[str, Any] = USES, number: int = 1) -> None:
        self.file(text(number))
        self.world.put("p", spec)
        self.settle()
        self.settle(D)

    @property
    def data(self) -> dict[str, str]:
        assert self.world.config_map is not None
        found: dict[str, str] = self.world.config_map["data"]
        return found

    def runs(self, scheduler: str = "p") -> list[PluginFile]:
        """Return the files of a profile as a scheduler gets them, which can build what it gets."""
        unit = unit_in(self.data)
        unit_configured(unit, built_in()).profiles()
        return list(unit.files.get(scheduler, ()))

    def says(self, pod: str, **annotations: Any) -> None:
        found = self.world.pods[pod]["metadata"].setdefault("annotations", {})
        found |= {key: each if isinstance(each, str) else json.dumps(each) for key, each in annotations.items()}


@pytest.fixture
def stage() -> Stage:
    return Stage()


def test_a_file_and_the_profile_that_needs_it_are_one_unit(stage: Stage) -> None:
    stage.file(text(1))
    stage.world.put("p", USES)
    stage.settle()
    assert stage.runs() == [PluginFile(PATH, text(1))]
    assert stage.world.hash == unit_hash(stage.data)
    assert stage.world.condition("p", "Ready")[:2] == ("True", "Acknowledged")
    assert stage.world.status("p")["pluginFiles"] == {PATH: PluginFile(PATH, text(1)).hash}


def test_an_edit_of_the_file_is_a_new_configuration_though_no_profile_changed(stage: Stage) -> None:
    stage.proven()
    before = stage.world.hash
    stage.file(text(2))
    stage.once()
    assert stage.world.hash != before
    assert stage.world.condition("p", "Ready")[:2] == ("False", "Waiting")
    stage.settle(D)
    assert stage.runs() == [PluginFile(PATH, text(2))]
    assert stage.world.condition("p", "Ready")[:2] == ("True", "Acknowledged")


@pytest.mark.parametrize(
    ("content", "reason", "message"),
    [
        pytest.param(BROKEN, "BrokenPlugin", f"{PATH}:1: syntax error: '(' was never closed", id="a syntax error"),
        pytest.param("import nowhere", "BrokenPlugin", "No module named 'nowhere'", id="an import that fails"),
        pytest.param("x = 1", "BrokenPlugin", f"{PATH}: no plugin in it", id="the plugin has gone from the file"),
        pytest.param(
            text(1, "Other"),
            "UnknownPlugin",
            f"{PATH}, which defined it, was deleted",
            id="another plugin took its place",
        ),
        pytest.param(
            "#" * (65 << 10), "BrokenPlugin", "it has 65 KiB, more than the limit of 64; split it", id="it is too long"
        ),
        pytest.param(
            None, "UnknownPlugin", f"unknown plugin; {PATH}, which defined it, was deleted", id="the file is gone"
        ),
    ],
)
def test_a_file_that_cannot_be_used_stops_nothing(stage: Stage, content: str | None, reason: str, message: str) -> None:
    stage.proven()
    before = stage.world.hash
    stage.file(content)
    stage.settle()
    assert stage.world.hash == before
    assert stage.runs() == [PluginFile(PATH, text(1))]
    status, found, told = stage.world.condition("p", "Accepted")
    assert (status, found) == ("False", reason)
    assert message in told
    assert told.endswith("(the spec of generation 1 with its previous plugin files keeps running)")
    stage.world.put("q", {})
    stage.settle()
    assert stage.world.condition("q", "Ready")[:2] == ("True", "Acknowledged"), "nobody else notices"
    stage.file(text(3))
    stage.settle()
    assert stage.runs() == [PluginFile(PATH, text(3))]
    assert stage.world.condition("p", "Ready")[:2] == ("True", "Acknowledged")


def test_what_runs_survives_an_operator_that_starts_with_a_broken_file_and_without_a_sandbox(stage: Stage) -> None:
    stage.proven()
    before = stage.world.hash
    stage.file(BROKEN)
    stage.restart_operator(without_sandbox=True)
    stage.settle(5 * D)
    assert stage.world.hash == before
    assert stage.runs() == [PluginFile(PATH, text(1))]
    stage.restart_operator()
    stage.settle(5 * D)
    assert stage.world.hash == before
    assert stage.world.condition("p", "Accepted")[1] == "BrokenPlugin"


def test_a_profile_that_never_ran_is_told_about_files_that_cannot_be_used(stage: Stage) -> None:
    stage.file(BROKEN)
    stage.world.put("p", USES)
    stage.settle()
    assert stage.world.condition("p", "Accepted")[1:] == (
        "UnknownPlugin",
        "spec.plugins[name=Tidy]: unknown plugin; did you mean 'Sticky'?; a plugin file cannot be used: "
        f"{PATH}:1: syntax error: '(' was never closed (this profile is not running)",
    )
    assert {(each.name, each.note) for each in stage.world.file_events} == {
        ("mine", f"{PATH}:1: syntax error: '(' was never closed")
    }


def test_a_new_argument_of_an_edited_file_is_known(stage: Stage) -> None:
    stage.proven()
    stage.world.put("p", {"plugins": [{"name": "Tidy", "args": {"least": 3}}]})
    stage.settle()
    assert "spec.plugins[name=Tidy].args" in stage.world.condition("p", "Accepted")[2]
    stage.file(text(1).replace("    most", "    least: int = 0\n    most"))
    stage.settle()
    assert stage.world.condition("p", "Ready")[:2] == ("True", "Acknowledged")
    assert "least: 3" in stage.world.text


def test_a_plugin_is_disabled_though_its_file_is_broken(stage: Stage) -> None:
    stage.proven()
    stage.file(BROKEN)
    stage.world.put("p", OFF)
    stage.settle()
    assert stage.world.condition("p", "Ready")[:2] == ("True", "Acknowledged")
    assert stage.runs() == []


def test_an_edit_that_a_replica_refuses_gives_way_to_what_was_acknowledged_last(stage: Stage) -> None:
    stage.proven()
    stage.file(text(2))
    stage.settle()
    stage.world.put("p", USES | {"percentageOfNodesToScore": REFUSED})
    stage.settle()
    assert stage.world.condition("p", "RolledBack")[:2] == ("True", "Refused")
    assert stage.runs() == [PluginFile(PATH, text(2))], "and not to the last good one"


def test_an_edit_that_fails_gives_way_to_the_file_as_it_was_and_is_not_tried_again(stage: Stage) -> None:
    stage.proven()
    stage.file(text(2))
    stage.once()
    stage.world.react()
    failing = {"kind": "failing", "hash": stage.world.hash, "schedulerName": "p", "plugin": "Tidy", "message": "oops"}
    stage.says(next(iter(stage.world.pods)), **{TROUBLE: failing})
    stage.settle(2 * D)
    assert stage.runs() == [PluginFile(PATH, text(1))]
    status, reason, message = stage.world.condition("p", "RolledBack")
    assert (status, reason) == ("True", "PluginFailing")
    assert message == (
        "Tidy failed: oops; the spec of generation 1 with its previous plugin files runs again; "
        "it is retried when it changes"
    )
    stage.file(text(3))
    stage.settle()
    assert stage.runs() == [PluginFile(PATH, text(3))]
    assert stage.world.condition("p", "RolledBack")[0] == "False"


def test_two_profiles_may_run_two_texts_of_one_file(stage: Stage) -> None:
    stage.world.put("q", {"plugins": [{"name": "Tidy", "args": {"most": 5}}]})
    stage.proven()
    stage.file(text(2).replace("    most: int = 2\n", ""))
    stage.settle()
    assert stage.runs("q") == [PluginFile(PATH, text(1))], "it has an argument that is gone"
    assert stage.runs("p") == [PluginFile(PATH, text(2).replace("    most: int = 2\n", ""))]
    assert stage.world.condition("q", "Accepted")[:2] == ("False", "Invalid")
    assert stage.world.condition("p", "Ready")[:2] == ("True", "Acknowledged")


def test_a_plugin_that_stops_a_replica_is_taken_back_though_it_ran_well_and_nothing_can_take_its_place(
    stage: Stage,
) -> None:
    stage.proven()
    stalled = {
        "kind": "stalled",
        "hash": stage.world.hash,
        "schedulerName": "p",
        "plugin": "Tidy",
        "message": "in score",
    }
    stage.says(next(iter(stage.world.pods)), **{TROUBLE: stalled})
    stage.once()
    assert stage.world.served == {}
    assert stage.world.condition("p", "RolledBack")[:2] == ("True", "PluginFailing")
    assert "Tidy blocked a replica: in score" in stage.world.condition("p", "RolledBack")[2]
    assert "lastGood" not in stage.world.status("p")


def test_a_new_file_that_stops_a_replica_gives_way_to_the_one_before(stage: Stage) -> None:
    stage.proven()
    stage.file(text(2))
    stage.settle()
    about = {"schedulerName": "p", "plugin": "Tidy", "message": "in score"}
    stuck, other = stage.world.pods
    stage.says(stuck, **{TROUBLE: {"kind": "stalled", "hash": stage.world.hash, **about}})
    stage.once()
    assert stage.runs() == [PluginFile(PATH, text(1))]
    for _ in range(3):
        stage.world.react([other])
        stage.world.now += timedelta(seconds=D)
        stage.once()
    assert stage.runs() == [PluginFile(PATH, text(1))], "also while the replica stands still"
    assert stage.world.condition("p", "RolledBack")[:2] == ("True", "PluginFailing")


def test_what_stopped_a_replica_does_not_come_back_because_that_replica_is_silent(stage: Stage) -> None:
    stage.proven()
    stuck, other = stage.world.pods
    stage.world.put("p", OFF)
    stage.once()
    for _ in range(3):
        stage.world.react([other])
        stage.world.now += timedelta(seconds=D)
        stage.once()
    assert stage.runs() == []
    assert stage.world.condition("p", "RolledBack")[0] == "False"
    assert stage.world.condition("p", "Ready")[:2] == ("False", "Waiting")
    stage.world.react([stuck])
    stage.once()
    assert stage.world.condition("p", "Ready")[:2] == ("True", "Acknowledged")


def test_a_replica_that_falls_silent_over_a_new_file_takes_it_back(stage: Stage) -> None:
    stage.proven()
    stage.file(text(2))
    stage.once()
    for pod in stage.world.pods:
        stage.says(pod, **{TRYING: stage.world.hash})
    stage.world.now += timedelta(seconds=D)
    stage.once()
    assert stage.world.condition("p", "RolledBack")[:2] == ("True", "NotAcknowledged")
    assert stage.runs() == [PluginFile(PATH, text(1))]


def test_files_that_nobody_can_come_back_to_are_dropped(stage: Stage) -> None:
    stage.proven()
    for number in range(2, 6):
        stage.file(text(number))
        stage.settle()
        stage.settle(D)
    assert [key for key in stage.data if key.endswith(".py")] == [PluginFile(PATH, text(5)).key]
    stage.world.put("p", {})
    stage.settle()
    stage.settle(D)
    assert sorted(stage.data) == ["scheduler-config.yaml", "served.json"]


@pytest.mark.parametrize("key", ["plugin-files.json", "units.json", "file"])
def test_what_somebody_changes_by_hand_is_repaired(stage: Stage, key: str) -> None:
    stage.proven()
    before = dict(stage.data)
    stage.world.remembered = before
    stage.data[PluginFile(PATH, text(1)).key if key == "file" else key] = "nonsense"
    stage.once()
    assert stage.data == before


def test_a_name_belongs_to_the_oldest_file_that_has_it() -> None:
    first, second = PluginFile("a/x.py", "1"), PluginFile("b/y.py", "2")
    found = library([first, second], lambda file: (("Tidy",), ""))
    assert found.by_plugin == {"Tidy": first}
    assert found.broken == {"b/y.py": "b/y.py: a/x.py already defines the plugin Tidy; rename this class"}


def test_the_hash_on_a_pod_is_that_of_the_unit(stage: Stage) -> None:
    stage.proven()
    assert {pod["metadata"]["annotations"][HASH] for pod in stage.world.pods.values()} == {unit_hash(stage.data)}


def test_many_files_that_take_long_get_their_turn_in_later_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    now, asked = 0.0, []

    class Slow:
        def ask(self, question: Question) -> Answer:
            nonlocal now
            now += 5.0
            asked.append(question.files[0].path)
            return Answer(problem="its import did not finish within 5 s")

    monkeypatch.setattr("pilotage_operator.profiles.unit_judge.monotonic", lambda: now)
    judge, files = UnitJudge(Judge(built_in()), Slow()), [PluginFile(f"mine/{number}.py", "x") for number in range(7)]
    waiting = [sum("not been validated yet" in each for each in judge.library(files).broken.values()) for _ in range(3)]
    assert waiting == [4, 1, 0]
    assert asked == [file.path for file in files], "each once"


def test_a_file_that_ends_the_sandbox_is_asked_again_after_a_while_and_not_in_every_round(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, sandbox = 0.0, InThisProcess()
    monkeypatch.setattr("pilotage_operator.profiles.unit_judge.monotonic", lambda: now)
    judge, files = UnitJudge(Judge(built_in()), sandbox), [PluginFile(PATH, text(1))]
    sandbox.is_away = True
    assert PATH in judge.library(files).broken
    sandbox.is_away = False
    assert PATH in judge.library(files).broken
    now = 61.0
    assert judge.library(files).broken == {}
