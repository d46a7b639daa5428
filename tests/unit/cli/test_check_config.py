"""`pilotage check-config`: the effective configuration, or everything that is wrong."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from click.testing import Result

Pilotage = Callable[..., Result]
Write = Callable[..., str]

EXAMPLES = Path(__file__).parents[3] / "examples/plugins"
HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def test_the_effective_configuration_is_printed(pilotage: Pilotage, write: Write) -> None:
    result = pilotage("check-config", write(HEAD + "parallelism: 3\n"))
    assert (result.exit_code, result.stderr) == (0, "")
    found = yaml.safe_load(result.stdout)
    assert (found["parallelism"], found["podMaxBackoffSeconds"]) == (3, 10)
    assert found["profiles"][0]["schedulerName"] == "default-scheduler"
    names = [plugin["name"] for plugin in found["profiles"][0]["plugins"]["multiPoint"]["enabled"]]
    assert names[:2] == ["SchedulingGates", "PrioritySort"]


def test_json_holds_the_same(pilotage: Pilotage, write: Write) -> None:
    file = write(HEAD)
    as_json, as_yaml = pilotage("check-config", file, "-o", "json"), pilotage("check-config", file, "-o", "yaml")
    assert json.loads(as_json.stdout) == yaml.safe_load(as_yaml.stdout)


def test_what_is_printed_is_right_itself(pilotage: Pilotage, write: Write) -> None:
    printed = pilotage("check-config", write(HEAD)).stdout
    assert pilotage("check-config", "-", stdin=printed).stdout == printed


def test_every_error_at_once(pilotage: Pilotage, write: Write) -> None:
    file = write(
        HEAD
        + "parallelism: 0\npodInitialBackoffSeconds: 0\n"
        + "profiles: [{plugins: {filter: {enabled: [{name: NodeNmae}]}}}]\n"
    )
    result = pilotage("check-config", file)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "parallelism: Invalid value: 0" in result.stderr
    assert "podInitialBackoffSeconds: Invalid value: 0" in result.stderr
    assert 'did you mean "NodeName"?' in result.stderr
    assert all(line.startswith(file) for line in result.stderr.splitlines())


def test_warnings_stand_beside_the_answer(pilotage: Pilotage, write: Write) -> None:
    result = pilotage("check-config", write(HEAD + "profiles: [{plugins: {filter: {disabled: [{name: Nothing}]}}}]\n"))
    assert result.exit_code == 0
    assert '"Nothing" is not enabled, so nothing is disabled' in result.stderr


def test_plugins_of_a_folder_are_known_and_enabled(pilotage: Pilotage, write: Write) -> None:
    result = pilotage("check-config", write(HEAD), "--plugin-dir", EXAMPLES)
    assert "- name: NameScore" in result.stdout


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param("{", "", id="no YAML"),
        pytest.param("kind: Pod\napiVersion: v1", "", id="something else"),
        pytest.param("", "", id="nothing"),
    ],
)
def test_what_is_no_configuration(text: str, told: str, pilotage: Pilotage, write: Write) -> None:
    result = pilotage("check-config", write(text))
    assert result.exit_code == 2
    assert told in result.stderr


def test_a_file_that_is_not_there(pilotage: Pilotage) -> None:
    result = pilotage("check-config", "/nowhere/config.yaml")
    assert result.exit_code == 2
    assert "no such file or directory" in result.stderr


def test_a_profile_is_a_configuration_too(pilotage: Pilotage) -> None:
    result = pilotage("check-config", EXAMPLES.parent / "profiles/bin-packing.yaml", "--plugin-dir", EXAMPLES)
    assert (result.exit_code, result.stderr) == (0, "")
    (profile,) = yaml.safe_load(result.stdout)["profiles"]
    assert profile["schedulerName"] == "bin-packing"
    assert "NameScore" not in result.stdout  # since the profile does not name it


PROFILE = "apiVersion: pilotage.dev/v1alpha1\nkind: SchedulerProfile\nmetadata: {name: p}\n"


def test_a_profile_from_standard_input(pilotage: Pilotage) -> None:
    assert "schedulerName: p" in pilotage("check-config", "-", stdin=PROFILE).stdout


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param(
            PROFILE + "spec: {plugins: [{name: Nobody}]}\n",
            ", document 1 (SchedulerProfile p): spec.plugins[name=Nobody]: unknown plugin\n",
            id="one that cannot run",
        ),
        pytest.param(
            PROFILE + "---\n" + HEAD, ": it contains both a SchedulerProfile and a Kube", id="beside another kind"
        ),
    ],
)
def test_profiles_that_are_no_configuration(text: str, told: str, pilotage: Pilotage, write: Write) -> None:
    file = write(text)
    result = pilotage("check-config", file)
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"{file}{told}" in result.stderr


@pytest.mark.parametrize("version", ["v1beta1", "v1beta3"])
def test_an_older_version_is_for_convert(version: str, pilotage: Pilotage, write: Write) -> None:
    result = pilotage("check-config", write(HEAD.replace("/v1", f"/{version}")))
    assert result.exit_code == 2
    assert f'is registered for version "kubescheduler.config.k8s.io/{version}"' in result.stderr
    assert "`pilotage convert FILE -o config` converts older versions" in result.stderr
