"""`pilotage plugins`: everything that a plugin says about itself."""

import json
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from click.testing import Result

from pilotage.cli.plugin_facts import actions, type_name
from pilotage.config.types import Section
from pilotage.framework.api.events import ANYTHING, NODE_ADDED, Action, Resource, Retry
from pilotage.plugins.catalogue import built_in

Pilotage = Callable[..., Result]
Write = Callable[..., str]

EXAMPLES = Path(__file__).parents[3] / "examples/plugins"
FIELDS = [
    "name",
    "description",
    "origin",
    "extensionPoints",
    "dependsOn",
    "arguments",
    "events",
    "reads",
    "permissions",
]
EVERYTHING = '''
from pilotage.framework.api.events import *
from pilotage.framework.api.plugin import *
from pilotage.kinds.workloads import Service
from pydantic import Field


class Everything(Filter, Score):
    """Says all that a plugin can say."""

    label: str = Field("zone", description="The label that counts.")
    most: int

    depends_on = STATIC
    retry_on = (Retry(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL, "helps"), POD_DELETED)
    reads = (Service,)
    permissions = (Permission("apps", "deployments", ("get", "patch")),)

    def filter(self, cycle, pod, node): ...
    def score(self, cycle, pod, node): return 0
    def helps(self, pod, event, old, new): return True
'''


@pytest.fixture
def folder(write: Write) -> str:
    return write(EVERYTHING, name="plugins/everything.py").removesuffix("/everything.py")


def test_the_list_has_every_plugin_and_its_line(pilotage: Pilotage) -> None:
    result = pilotage("plugins")
    assert result.exit_code == 0
    header, *lines = result.stdout.splitlines()
    assert header.split() == ["NAME", "EXTENSION", "POINTS", "DESCRIPTION"]
    assert [line.split()[0] for line in lines] == sorted(built_in().names())
    assert any("queueSort  " in line and "Sort by priority" in line for line in lines)


def test_json_has_everything_of_every_plugin(pilotage: Pilotage) -> None:
    found = json.loads(pilotage("plugins", "-o", "json").stdout)
    assert [plugin["name"] for plugin in found] == sorted(built_in().names())
    assert all(list(plugin) == FIELDS for plugin in found)


def test_json_of_one(pilotage: Pilotage, folder: str) -> None:
    found = json.loads(pilotage("plugins", "Everything", "--plugin-dir", folder, "-o", "json").stdout)
    assert found == {
        "name": "Everything",
        "description": "Says all that a plugin can say.",
        "origin": f"{folder}/everything.py",
        "extensionPoints": ["filter", "score"],
        "dependsOn": "the node object",
        "arguments": [
            {
                "name": "label",
                "type": "text",
                "required": False,
                "default": "zone",
                "description": "The label that counts.",
            },
            {"name": "most", "type": "whole number", "required": True, "description": ""},
        ],
        "events": [
            {"resource": "Node", "actions": ["Add", "UpdateNodeLabel"], "hint": "helps"},
            {"resource": "AssignedPod", "actions": ["Delete"], "hint": None},
        ],
        "reads": [{"group": "", "kind": "Service"}],
        "permissions": [
            {"group": "", "resource": "services", "verbs": ["list", "watch"]},
            {"group": "apps", "resource": "deployments", "verbs": ["get", "patch"]},
        ],
    }


def test_the_page_of_one(pilotage: Pilotage, folder: str) -> None:
    page = " ".join(pilotage("plugins", "Everything", "--plugin-dir", folder).stdout.split())
    for told in (
        "Description: Says all that a plugin can say.",
        f"From: {folder}/everything.py",
        "Extension points: filter, score",
        "Results depend on: the node object",
        'label text "zone" The label that counts.',
        "most whole number (required)",
        "Node Add, UpdateNodeLabel if helps returns true",
        "AssignedPod Delete always",
        "reads, besides pods and nodes: Service",
        "list, watch services",
        "get, patch deployments.apps",
    ):
        assert told in page


def test_wide_has_everything_in_columns(pilotage: Pilotage, folder: str) -> None:
    lines = pilotage("plugins", "-o", "wide", "--plugin-dir", folder).stdout.splitlines()
    line = next(line for line in lines if line.startswith("Everything "))
    for told in ("label,most", "Node/Add|UpdateNodeLabel,AssignedPod/Delete", "Service", "get|patch deployments.apps"):
        assert told in line


def test_the_example_is_shown_too(pilotage: Pilotage) -> None:
    assert "NameScore" in pilotage("plugins", "--plugin-dir", EXAMPLES).stdout


def test_a_name_that_nobody_has(pilotage: Pilotage) -> None:
    result = pilotage("plugins", "NodeResourceFit")
    assert result.exit_code == 2
    assert result.stderr == 'no plugin "NodeResourceFit"; did you mean "NodeResourcesFit"?\n'


def test_defaults_are_those_of_the_configuration(pilotage: Pilotage) -> None:
    found = json.loads(pilotage("plugins", "InterPodAffinity", "-o", "json").stdout)
    defaults = {argument["name"]: argument.get("default") for argument in found["arguments"]}
    assert defaults["hardPodAffinityWeight"] == 1


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Part(Section):
    some_name: str = ""


@pytest.mark.parametrize(
    ("annotation", "name"),
    [
        (str, "text"),
        (int | None, "whole number"),
        (Annotated[bool, 1], "true or false"),
        (tuple[str, ...], "list of text"),
        (list[int], "list of whole number"),
        (dict[str, float], "map of number"),
        (Literal["a", "b"], "'a' or 'b'"),
        (Colour, "red or blue"),
        (Part | None, "map (someName)"),
        (Path, "Path"),
        (Any, "Any"),
    ],
)
def test_names_of_types(annotation: Any, name: str) -> None:
    assert type_name(annotation) == name


@pytest.mark.parametrize(
    ("retry", "names"),
    [
        (ANYTHING, ["All"]),
        (NODE_ADDED, ["Add"]),
        (Retry(Resource.NODE, Action.UPDATE), ["Update"]),
        (Retry(Resource.NODE, Action.ADD | Action.UPDATE), ["Add", "Update"]),
        (Retry(Resource.NODE, Action.ADD | Action.DELETE), ["Add", "Delete"]),
    ],
)
def test_names_of_changes(retry: Retry, names: list[str]) -> None:
    assert actions(retry) == names
