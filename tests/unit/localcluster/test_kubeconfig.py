"""A user's kubeconfig gains and loses our entry, and nothing else of it changes."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from localcluster import kubeconfig
from localcluster.errors import Problem


def entry(name: str) -> dict[str, Any]:
    return {
        "clusters": [{"name": name, "cluster": {"server": f"https://{name}"}}],
        "users": [{"name": name, "user": {}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }


@pytest.mark.parametrize(
    ("before", "contexts"),
    [
        pytest.param(None, ["kind-a"], id="a file that is not there is made"),
        pytest.param("", ["kind-a"], id="an empty file is filled, as pytest-kind leaves one"),
        pytest.param(yaml.safe_dump(entry("work")), ["work", "kind-a"], id="another cluster's entry stays"),
        pytest.param(yaml.safe_dump(entry("kind-a")), ["kind-a"], id="an old entry of ours is replaced"),
        pytest.param("clusters: null\ncontexts: null\nusers: null", ["kind-a"], id="empty sections are filled"),
    ],
)
def test_merge(tmp_path: Path, before: str | None, contexts: list[str]) -> None:
    path = tmp_path / "deep" / "config"
    if before is not None:
        path.parent.mkdir()
        path.write_text(before)
    kubeconfig.merge(path, entry("kind-a"))
    content = yaml.safe_load(path.read_text())
    assert [context["name"] for context in content["contexts"]] == contexts
    assert content["current-context"] == "kind-a"
    assert content["kind"] == "Config"
    assert path.stat().st_mode & 0o077 == 0


def test_remove_gives_back_the_file_that_was_there(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump(entry("work")))
    kubeconfig.merge(path, entry("kind-a"))
    kubeconfig.remove(path, "kind-a")
    content = yaml.safe_load(path.read_text())
    assert [user["name"] for user in content["users"]] == ["work"]
    assert content["current-context"] == ""


def test_remove_of_a_missing_file_is_no_error(tmp_path: Path) -> None:
    kubeconfig.remove(tmp_path / "none", "kind-a")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [pytest.param("{", id="no YAML"), pytest.param("- 1", id="a list")])
def test_a_broken_file_is_left_alone_and_named(tmp_path: Path, content: str) -> None:
    path = tmp_path / "config"
    path.write_text(content)
    with pytest.raises(Problem, match=f"{path} is not"):
        kubeconfig.merge(path, entry("kind-a"))
    assert path.read_text() == content
