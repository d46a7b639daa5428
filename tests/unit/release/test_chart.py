"""The chart of a release pulls its images from the registry that has them."""

import pytest
import yaml

from localcluster.errors import Problem
from release.chart import SOURCE, with_registry

VALUES = (SOURCE / "values.yaml").read_text()


def test_only_the_default_registry_changes() -> None:
    changed = with_registry(VALUES, "registry.example.com/team")
    was = yaml.safe_load(VALUES)
    assert was["image"]["registry"] == "localhost"
    was["image"]["registry"] = "registry.example.com/team"
    assert yaml.safe_load(changed) == was
    assert len(changed.splitlines()) == len(VALUES.splitlines())


def test_comments_stay() -> None:
    assert "# The registry with an optional path" in with_registry(VALUES, "registry.example.com/team")


def test_values_without_that_default_are_refused() -> None:
    with pytest.raises(Problem, match=r"no image\.registry of localhost"):
        with_registry("image:\n  registry: elsewhere\nother:\n  registry: localhost\n", "registry.example.com")
