"""The page of a plugin shows what the program does: its configuration is right, and its examples print just that."""

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import Result

from pilotage.config.defaults import DEFAULT_PLUGINS
from pilotage.plugins.catalogue import built_in

Pilotage = Callable[..., Result]

ROOT = Path(__file__).parents[3]
FAMILY = ROOT / "docs/plugins/README.md"
PAGES = sorted(set((ROOT / "docs/plugins").glob("*.md")) - {FAMILY})
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ pilotage (.*)\n", re.MULTILINE)
ARGUMENT = re.compile(r"^\| `(\w+)` \|", re.MULTILINE)

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)


def blocks(page: Path, language: str) -> list[str]:
    return [text for kind, text in BLOCK.findall(page.read_text()) if kind == language]


def title(page: Path) -> str:
    return page.read_text().partition("\n")[0].removeprefix("# ")


@each_page
def test_the_page_is_that_of_a_plugin_and_has_its_arguments(page: Path, pilotage: Pilotage) -> None:
    words = re.findall("[A-Z][a-z]+|[A-Z]+(?![a-z])", title(page))
    assert "-".join(words).lower() == page.stem
    facts = json.loads(pilotage("plugins", title(page), "-o", "json").stdout)
    assert ARGUMENT.findall(page.read_text()) == [argument["name"] for argument in facts["arguments"]]


@each_page
def test_the_configuration_that_is_shown_is_right(page: Path, pilotage: Pilotage) -> None:
    _, text = blocks(page, "yaml")
    result = pilotage("check-config", "-", stdin=text)
    assert result.exit_code == 0, result.stderr
    (profile,) = yaml.safe_load(result.stdout)["profiles"]
    assert title(page) in {plugin["name"] for plugin in profile["plugins"]["multiPoint"]["enabled"]}


@each_page
def test_the_profile_comes_first_and_is_that_of_the_example(page: Path) -> None:
    first, _ = blocks(page, "yaml")
    remark, _, text = (ROOT / "examples" / page.stem / "profile.yaml").read_text().partition("\n")
    assert (remark[:2], text) == ("# ", first)
    kinds = {document["kind"] for document in yaml.safe_load_all(first)}
    plugins = [entry["name"] for each in yaml.safe_load_all(first) for entry in each["spec"]["plugins"]]
    assert kinds == {"SchedulerProfile"}
    assert title(page) in plugins


@each_page
def test_examples_print_what_is_shown(page: Path, pilotage: Pilotage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    (shown,) = (block for block in blocks(page, "") if COMMAND.match(block))
    _, *parts = COMMAND.split(shown)
    assert len(parts) == 4
    for command, printed in zip(parts[::2], parts[1::2], strict=True):
        assert pilotage(*shlex.split(command)).stdout.strip() == printed.strip()


def pods_of(example: str, pilotage: Pilotage) -> dict[str, Any]:
    folder = ROOT / "examples" / example
    words = ("--config", folder / "scheduler.yaml", "-f", folder / "cluster.yaml", "-o", "json")
    return {pod["name"]: pod for pod in json.loads(pilotage("simulate", *words).stdout)}


def test_an_invalid_priority_is_told_and_counts_as_0(pilotage: Pilotage) -> None:
    folder = ROOT / "examples/priority"
    result = pilotage("simulate", "--config", folder / "scheduler.yaml", "-f", folder / "cluster.yaml")
    told = "node n4: label priority.lixueduan.com='high' is not a whole number"
    assert result.stderr.count(told) == 1
    assert pods_of("priority", pilotage)["web"]["scores"]["Priority"] == {
        "raw": 20,
        "normalized": 100,
        "weight": 10,
        "weighted": 1000,
    }


def test_two_profiles_have_their_own_arguments(pilotage: Pilotage) -> None:
    pods = pods_of("node-resources-allocatable", pilotage)
    raw = {name: pod["scores"]["NodeResourcesAllocatable"]["raw"] for name, pod in pods.items()}
    assert raw == {"web": -10191, "report": 163071}


def test_a_forgotten_application_is_told_with_what_to_do(pilotage: Pilotage) -> None:
    message = pods_of("network-overhead", pilotage)["stray"]["message"]
    assert 'AppGroup "blog" not found in namespace default: create it, or remove the label' in message


def test_the_family_has_every_page_and_every_plugin_that_is_in_no_default_profile() -> None:
    assert sorted(re.findall(r"^\| \[\w+\]\(([\w-]+\.md)\)", FAMILY.read_text(), re.MULTILINE)) == [
        page.name for page in PAGES
    ]
    named = set(re.findall(r"^\| \[(\w+)\]", FAMILY.read_text(), re.MULTILINE))
    assert named >= set(built_in().names()) - {plugin.name for plugin in DEFAULT_PLUGINS}


def test_every_complaint_has_a_test_that_exists() -> None:
    proofs = re.findall(r"\| (tests/[\w/]+\.py)::(\w+) \|$", FAMILY.read_text(), re.MULTILINE)
    assert len(proofs) == len(re.findall(r"^\| #", FAMILY.read_text(), re.MULTILINE)) > 20
    for file, name in proofs:
        assert re.search(rf"def {name}\(", (ROOT / file).read_text()), f"{file}::{name}"


def test_every_difference_about_devices_has_a_test_that_exists() -> None:
    page = (ROOT / "docs/deviations.md").read_text()
    rows = page.partition("## Devices")[2].partition("## ")[0]
    proofs = re.findall(r"\| (tests/[\w/]+\.py)::(\w+) \|$", rows, re.MULTILINE)
    assert len(proofs) > 10
    for file, name in proofs:
        assert re.search(rf"def {name}\(", (ROOT / file).read_text()), f"{file}::{name}"
