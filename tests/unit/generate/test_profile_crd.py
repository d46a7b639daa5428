"""The CustomResourceDefinition of SchedulerProfile: what users and the API server rely on."""

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from generate.profile_crd import definition, schema, text

LIST_TYPES = {
    "spec.plugins": "map",
    "spec.plugins[].points": "set",
    "spec.extenders": "atomic",
    "spec.extenders[].managedResources": "map",
    "spec.sharing.victims": "set",
    "spec.nodes.selector.matchExpressions": "atomic",
    "spec.nodes.selector.matchExpressions[].values": "atomic",
    "status.conditions": "map",
}
# A field that is absent stays absent, or two people who apply the same resource would own what nobody wrote.
DEFAULTS = {
    "spec.base": "Kubernetes",
    "spec.plugins[].enabled": True,
    "spec.extenders[].managedResources[].ignoredByScheduler": False,
    "spec.rollout.strategy": "HotReload",
    "spec.rollout.progressDeadlineSeconds": 60,
    "spec.sharing.guard": True,
    "spec.sharing.spread": 5,
    "spec.nodes.taint": False,
}


def parts(found: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every schema inside a schema, with its path."""
    yield path.lstrip("."), found
    for name, field in found.get("properties", {}).items():
        yield from parts(field, f"{path}.{name}")
    for key, mark in (("items", "[]"), ("additionalProperties", ".*")):
        if key in found:
            yield from parts(found[key], f"{path}{mark}")


ALL = dict(parts(schema()))
SHIPPED = dict(parts(definition()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]))


def test_names_and_scope() -> None:
    found = definition()
    assert found["metadata"]["name"] == "schedulerprofiles.pilotage.dev"
    assert found["spec"]["scope"] == "Cluster"
    assert found["spec"]["names"] == {
        "kind": "SchedulerProfile",
        "listKind": "SchedulerProfileList",
        "plural": "schedulerprofiles",
        "singular": "schedulerprofile",
        "shortNames": ["schedprof"],
        "categories": ["pilotage"],
    }


def test_one_version_with_a_status_of_its_own() -> None:
    (version,) = definition()["spec"]["versions"]
    assert (version["name"], version["served"], version["storage"]) == ("v1alpha1", True, True)
    assert version["subresources"] == {"status": {}}


def test_printed_columns() -> None:
    (version,) = definition()["spec"]["versions"]
    columns = {column["name"]: column.get("priority", 0) for column in version["additionalPrinterColumns"]}
    assert [name for name, priority in columns.items() if not priority] == [
        "Scheduler",
        "Plugins",
        "Ready",
        "Reason",
        "Replicas",
        "Age",
    ]
    assert [name for name, priority in columns.items() if priority] == ["Message"]


def test_nothing_is_unbounded() -> None:
    bounds = {"string": "maxLength", "array": "maxItems", "integer": "minimum"}
    unbounded = [
        path
        for path, part in ALL.items()
        if bounds.get(part["type"], "type") not in part and "enum" not in part
        if path not in {"apiVersion", "kind"}  # the API server bounds these itself
    ]
    assert unbounded == []


def test_free_maps_are_bounded_too() -> None:
    free = {path: part for path, part in ALL.items() if part["type"] == "object" and "properties" not in part}
    assert set(free) == {
        *("metadata", "spec.plugins[].args", "status.plugins", "status.pluginFiles"),
        *("status.lastGood.spec", "status.lastAcknowledged.spec", "spec.nodes.selector.matchLabels"),
    }
    assert all("maxProperties" in part for path, part in free.items() if path != "metadata")


def test_every_list_says_how_it_is_merged() -> None:
    lists = {path: part for path, part in ALL.items() if part["type"] == "array"}
    said = {path: part.get("x-kubernetes-list-type") for path, part in lists.items()}
    assert said == LIST_TYPES | {"status.plugins.*": "atomic"}


def test_keys_of_list_maps_are_required() -> None:
    for path, part in ALL.items():
        for key in part.get("x-kubernetes-list-map-keys", ()):
            assert key in ALL[f"{path}[]"]["required"]


def test_only_real_defaults() -> None:
    assert {path: part["default"] for path, part in ALL.items() if "default" in part} == DEFAULTS


def test_the_api_server_adds_nothing_to_entries_of_lists() -> None:
    """kubectl compares lists as a whole: a default in an entry would make every apply a write."""
    outside = {path: default for path, default in DEFAULTS.items() if "[]" not in path}
    assert {path: part["default"] for path, part in SHIPPED.items() if "default" in part} == outside
    assert SHIPPED.keys() == ALL.keys()


@pytest.mark.parametrize("path", [path for path in DEFAULTS if "[]" in path])
def test_a_default_that_only_the_operator_knows_is_in_the_description(path: str) -> None:
    assert f"Default: {str(DEFAULTS[path]).lower()}." in ALL[path]["description"]


def test_everything_is_explained() -> None:
    silent = [path for path, part in ALL.items() if not part.get("description") and not path.endswith((".*", "[]"))]
    assert silent == ["metadata"]  # which must not be explained: the API server refuses such a definition


@pytest.mark.parametrize("key", ["$ref", "$defs", "anyOf", "title", "nullable", "const", "exclusiveMinimum"])
def test_nothing_that_a_structural_schema_cannot_have(key: str) -> None:
    assert not [path for path, part in ALL.items() if key in part]
    assert not [path for path, part in ALL.items() if part.get("additionalProperties") in (True, False)]


def test_every_rule_has_a_message_with_the_fix_on_one_line() -> None:
    rules = [rule for part in ALL.values() for rule in part.get("x-kubernetes-validations", ())]
    assert len(rules) >= 10
    for rule in rules:
        assert "; " in rule["message"]
        assert "\n" not in rule["message"]


def test_the_text_is_one_plain_document_that_says_where_it_comes_from() -> None:
    assert text().splitlines()[0].endswith("by make generate; do not edit")
    assert yaml.safe_load(text()) == definition()
    assert "{{" not in text()
    assert "&id" not in text()
