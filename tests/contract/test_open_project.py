"""What contributors and GitHub find here agrees with what is here: workflows, updates, templates, hooks, documents."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
FORMS = sorted(path for path in (GITHUB / "ISSUE_TEMPLATE").glob("*.yml") if path.name != "config.yml")
DOCUMENTS = ["RELEASE.md", "CONTRIBUTING.md", "CODE_OF_CONDUCT.md", ".github/PULL_REQUEST_TEMPLATE.md"]
HOOKS = [
    hook
    for repository in yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    for hook in repository["hooks"]
]


def read(path: Path) -> Any:
    # YAML 1.1 reads the key `on` as true.
    return yaml.safe_load(path.read_text().replace("\non:", "\n'on':"))


def jobs() -> list[Any]:
    return [
        pytest.param(job, id=f"{path.stem}: {name}") for path in WORKFLOWS for name, job in read(path)["jobs"].items()
    ]


def targets() -> set[str]:
    return set(re.findall(r"^([a-z][a-z0-9-]*):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE))


def made(script: str) -> Iterator[str]:
    """The targets that a script makes: `make --silent lint test-unit TAG=1` makes two."""
    for words in re.findall(r"(?:^|\s)make ((?:[^\s|;]+ ?)+)", script):
        yield from (word for word in words.split() if re.fullmatch(r"[a-z][a-z0-9-]*", word))


# --- workflows


def test_there_are_workflows_for_changes_releases_and_audits() -> None:
    assert [path.stem for path in WORKFLOWS] == ["audit", "ci", "release"]


@pytest.mark.parametrize("job", jobs())
def test_a_job_makes_only_targets_that_exist(job: dict[str, Any]) -> None:
    named = {target for step in job["steps"] for target in made(step.get("run", ""))}
    assert named <= targets()


@pytest.mark.parametrize(
    ("workflow", "target"),
    [
        ("ci", "lint"), ("ci", "test-unit"), ("ci", "test"), ("ci", "coverage"), ("audit", "audit"),
        ("release", "release-check"), ("release", "release-notes"), ("release", "push"), ("release", "chart"),
        ("release", "sbom"), ("release", "plugin"),
    ],
)  # fmt: skip
def test_a_workflow_makes(workflow: str, target: str) -> None:
    scripts = [
        step.get("run", "")
        for job in read(GITHUB / f"workflows/{workflow}.yml")["jobs"].values()
        for step in job["steps"]
    ]
    assert target in {each for script in scripts for each in made(script)}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_has_no_right_that_a_job_does_not_ask_for(path: Path) -> None:
    assert read(path)["permissions"] == {}


@pytest.mark.parametrize("job", jobs())
def test_a_job_says_its_rights_and_its_time_limit(job: dict[str, Any]) -> None:
    assert job["permissions"]
    assert job["timeout-minutes"] <= 180


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_only_a_release_may_write(path: Path) -> None:
    writes = {
        right for job in read(path)["jobs"].values() for right, word in job["permissions"].items() if word == "write"
    }
    expected = {"attestations", "contents", "id-token", "packages"} if path.stem == "release" else set()
    assert writes == expected


def test_every_action_is_pinned_by_one_commit_and_says_its_version() -> None:
    lines = [line.strip() for path in WORKFLOWS for line in path.read_text().splitlines() if "uses:" in line]
    pins = {re.fullmatch(r"(?:- )?uses: ([\w/-]+)@([0-9a-f]{40}) # (v\d+\.\d+\.\d+)", line) for line in lines}
    assert None not in pins
    found = {(pin[1], pin[2], pin[3]) for pin in pins if pin}
    assert len({action for action, _, _ in found}) == len(found), "one action at two versions"


def test_ci_runs_the_oldest_python_that_we_support_and_that_of_the_images() -> None:
    matrix = read(GITHUB / "workflows/ci.yml")["jobs"]["unit"]["strategy"]["matrix"]["python"]
    oldest = tomllib.loads((ROOT / "scheduler/pyproject.toml").read_text())["project"]["requires-python"]
    base = re.search(r"^ARG BASE=python:(\S+)-slim$", (ROOT / "Dockerfile.scheduler").read_text(), re.MULTILINE)
    assert oldest == f">={matrix[0]}"
    assert base
    assert base[1] in matrix


def test_lint_checks_the_workflows() -> None:
    lint = re.search(r"^lint:([^#]*)##", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert lint
    assert "lint-workflows" in lint[1].split()


# --- updates


def test_updates_cover_python_the_actions_and_every_go_tool_but_kubernetes() -> None:
    updates = {each["package-ecosystem"]: each for each in read(GITHUB / "dependabot.yml")["updates"]}
    assert set(updates) == {"uv", "github-actions", "gomod"}
    tools = {f"/{path.parent.relative_to(ROOT)}" for path in ROOT.glob("hack/go/*/go.sum")}
    kubernetes = {tool for tool in tools if "/kubernetes-" in tool or tool.endswith("/dra")}  # a part of Kubernetes
    assert set(updates["gomod"]["directories"]) == tools - kubernetes


# --- templates and hooks


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_form_for_issues_is_complete(path: Path) -> None:
    form = read(path)
    assert {"name", "description", "labels", "body"} <= set(form)
    asked = [part for part in form["body"] if part["type"] != "markdown"]
    assert len({part["id"] for part in asked}) == len(asked)
    assert all(part["attributes"]["label"] for part in asked)
    assert any(part.get("validations", {}).get("required") for part in asked)


def test_there_are_forms_for_faults_and_wishes() -> None:
    assert [path.stem for path in FORMS] == ["bug", "feature"]


@pytest.mark.parametrize("hook", HOOKS, ids=[hook["id"] for hook in HOOKS])
def test_a_hook_downloads_nothing_and_runs_what_is_there(hook: dict[str, Any]) -> None:
    assert hook["language"] == "system"
    program = next(word for word in hook["entry"].split() if word != "env" and "=" not in word)
    assert (ROOT / program).exists() or set(made(hook["entry"])) & targets()


# --- documents


@pytest.mark.parametrize("document", DOCUMENTS)
def test_a_document_names_only_targets_and_files_that_exist(document: str) -> None:
    text = (ROOT / document).read_text()
    assert set(re.findall(r"(?:^\s*|`)make ([a-z][a-z-]*)", text, re.MULTILINE)) <= targets()
    links = {link.partition("#")[0] for link in re.findall(r"\]\((?!https?:)([^)#]+)", text)}
    assert [link for link in sorted(links) if not (ROOT / link).exists()] == []
