"""The command line of the operator."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from pilotage.model.outside_services import OutsideRules
from pilotage_operator.cli import main
from pilotage_operator.settings import Settings, settings_for

PROFILE = """
apiVersion: pilotage.dev/v1alpha1
kind: SchedulerProfile
metadata: {name: NAME}
spec: SPEC
"""


@pytest.fixture(autouse=True)
def logs_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """The logs of the other tests go where they went."""
    monkeypatch.setattr("pilotage_operator.cli.set_up_logs", lambda *_, **__: None)


def judged(tmp_path: Path, *specs: str) -> tuple[int, list[str]]:
    file = tmp_path / "profiles.yaml"
    file.write_text("---".join(PROFILE.replace("NAME", f"p{n}").replace("SPEC", spec) for n, spec in enumerate(specs)))
    result = CliRunner().invoke(main, ["judge", "-f", str(file)])
    return result.exit_code, result.output.splitlines()


def test_a_profile_that_can_run(tmp_path: Path) -> None:
    assert judged(tmp_path, "{}") == (0, ["p0: it can run"])


def test_every_fault_of_every_profile(tmp_path: Path) -> None:
    code, lines = judged(
        tmp_path,
        "{schedulerName: x, plugins: [{name: Nobody}, {name: ImageLocality, weight: -1}]}",
        "{schedulerName: y}",
        "{schedulerName: y}",
    )
    assert code == 2
    assert lines == [
        "p0: spec.plugins[name=ImageLocality].weight: input should be greater than or equal to 1, not -1",
        "p0: spec.plugins[name=Nobody]: unknown plugin",
        "p1: it can run",
        "p2: spec.schedulerName: y is used by the older profile p1; choose another name, or delete that profile",
    ]


@pytest.mark.parametrize(("text", "words"), [("kind: Pod", "there is no SchedulerProfile"), ("a: [", "it is not YAML")])
def test_a_file_that_holds_no_profile(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "file.yaml"
    file.write_text(text)
    result = CliRunner().invoke(main, ["judge", "-f", str(file)])
    assert result.exit_code == 1
    assert words in result.output


def test_run_wants_to_know_its_namespace(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("POD_NAMESPACE", "PILOTAGE_NAMESPACE"):
        monkeypatch.delenv(name, raising=False)
    result = CliRunner().invoke(main, ["run", "--release=x"])
    assert result.exit_code == 2
    assert "--namespace" in result.output


def test_a_kubeconfig_that_is_not_there_is_told(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["run", "--release=x", "--namespace=y", f"--kubeconfig={tmp_path}/none"])
    assert result.exit_code == 1
    assert "none" in result.output


ALL = ("AppGroup", "ElasticQuota", "NetworkTopology", "PodGroup", "StickyJob")


@pytest.mark.parametrize(
    ("flags", "kinds"),
    [
        pytest.param([], ALL, id="all, if nothing is said"),
        pytest.param(["--controllers=StickyJob, PodGroup"], ("StickyJob", "PodGroup"), id="those that are named"),
        pytest.param(["--controllers="], (), id="none"),
    ],
)
def test_whose_controllers_run(monkeypatch: pytest.MonkeyPatch, flags: list[str], kinds: tuple[str, ...]) -> None:
    started: list[Settings] = []

    async def operate(settings: Settings) -> None:
        started.append(settings)

    monkeypatch.setattr("pilotage_operator.operate.operate", operate)
    result = CliRunner().invoke(main, ["run", "--release=x", "--namespace=y", *flags])
    assert result.exit_code == 0, result.output
    assert started[0].controllers == kinds


def test_a_controller_that_there_is_not() -> None:
    result = CliRunner().invoke(main, ["run", "--release=x", "--namespace=y", "--controllers=Podgroup"])
    assert result.exit_code == 2
    assert f"there is no controller for Podgroup; there are: {', '.join(ALL)}" in result.output


@pytest.mark.parametrize(
    ("flags", "rules"),
    [
        pytest.param([], OutsideRules(), id="by default no host gets credentials"),
        pytest.param(
            ["--credentials-dir=/mine", "--allowed-hosts=a, *.b:1", "--credential-secrets=x,y"],
            OutsideRules("/mine", ("a", "*.b:1"), ("x", "y")),
            id="as told",
        ),
        pytest.param(["--credential-secrets="], OutsideRules(secrets=()), id="no Secret is mounted"),
    ],
)
def test_what_profiles_may_do_outside(monkeypatch: pytest.MonkeyPatch, flags: list[str], rules: OutsideRules) -> None:
    started: list[Settings] = []

    async def operate(settings: Settings) -> None:
        started.append(settings)

    monkeypatch.setattr("pilotage_operator.operate.operate", operate)
    result = CliRunner().invoke(main, ["run", "--release=x", "--namespace=y", *flags])
    assert result.exit_code == 0, result.output
    assert started[0].outside == rules


def test_names_come_from_the_release() -> None:
    found = settings_for("sys", "pilot")
    assert (found.scheduler_deployment, found.config_map, found.owner) == (
        "pilot-scheduler",
        "pilot-config",
        "pilot-operator",
    )
    found = settings_for("sys", "pilot", fullname="full", config_map="own", scheduler_deployment="")
    assert (found.scheduler_deployment, found.config_map, found.owner) == ("", "own", "full-operator")
    assert found.scheduler_selector == "app.kubernetes.io/instance=pilot,app.kubernetes.io/component=scheduler"


@pytest.mark.parametrize("command", [["--help"], ["run", "--help"], ["judge", "--help"]])
def test_help_has_an_example(command: list[str]) -> None:
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 0
    assert "Example:" in result.output
