"""The schema and the README of the chart are made from the comments in values.yaml."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from generate.chart_values import outputs, schema
from generate.values_comments import Undocumented, Value, read_values

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["values.schema.json", "README.md"])
def test_generated_files_are_fresh(name: str) -> None:
    path = ROOT / "charts/pilotage" / name
    assert outputs(ROOT)[path] == path.read_text(), "run `make generate`"


@pytest.mark.parametrize(
    "document", ["charts/pilotage/README.md", "docs/operations.md", "docs/migrate-from-scheduler-plugins.md"]
)
def test_values_that_are_shown_are_accepted(render_values: Callable[..., Any], document: str) -> None:
    shown = re.findall(r"^```yaml\n(.*?)^```$", (ROOT / document).read_text(), re.MULTILINE | re.DOTALL)
    assert shown
    for text in shown:
        assert render_values(yaml.safe_load(text))


def values_of(folder: Path, text: str) -> tuple[Value, ...]:
    path = folder / "values.yaml"
    path.write_text(text)
    return read_values(path)


def test_a_comment_describes_the_value_below_it(tmp_path: Path) -> None:
    values = values_of(tmp_path, "# A heading.\n\n# What it is,\n# in two lines.\na: 1\n")
    assert values == (Value(("a",), 1, "What it is, in two lines.", {}, ()),)


def test_maps_have_values_in_them_unless_their_comment_says_otherwise(tmp_path: Path) -> None:
    text = "# A.\na:\n  # B.\n  b: x\n# C.\n# @schema {additionalProperties: true}\nc:\n  d: 1\n# E.\ne: {}\n"
    values = values_of(tmp_path, text)
    assert [leaf.name for value in values for leaf in value.leaves()] == ["a.b", "c", "e"]


def test_the_schema_of_a_value_comes_from_its_default_and_its_comment(tmp_path: Path) -> None:
    text = (
        "# A.\na:\n  # B.\n  # @schema {minimum: 0}\n  b: 1\n"
        "# C.\n# @schema {type: [integer, 'null']}\nc: null\n# D.\nd: []\n"
    )
    properties = schema(values_of(tmp_path, text))["properties"]
    assert properties["a"] == {
        "description": "A.",
        "type": "object",
        "additionalProperties": False,
        "properties": {"b": {"description": "B.", "type": "integer", "minimum": 0}},
    }
    assert properties["c"] == {"description": "C.", "type": ["integer", "null"]}
    assert properties["d"] == {"description": "D.", "type": "array"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("a: 1\n", "values.yaml:1: a has no comment above it", id="no comment"),
        pytest.param("# A.\na:\n  b: 1\n", "values.yaml:3: a.b has no comment above it", id="no comment further down"),
        pytest.param("# A.\n# @schema nonsense\na: 1\n", "the @schema of a is no map", id="no schema"),
        pytest.param("# A.\na: null\n", "a: what is allowed in place of None must be told by @schema", id="no type"),
    ],
)
def test_what_is_not_documented_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(Undocumented, match=problem):
        schema(values_of(tmp_path, text))
