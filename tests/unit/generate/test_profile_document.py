"""docs/schedulerprofile.md has everything that the resource has."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from generate.profile_crd import schema
from generate.profile_document import text
from localcluster.paths import REPOSITORY
from pilotage_operator.condition_reasons import CONDITIONS

DOCUMENT = text()


def fields(path: str, found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name, field in found["properties"].items():
        yield path, name
        inside, mark = (field["items"], "[]") if "items" in field else (field, "")
        if "properties" in inside:
            yield from fields(f"{path}.{name}{mark}", inside)


def rules(path: str, found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield from ((path, rule["message"].replace("|", "\\|")) for rule in found.get("x-kubernetes-validations", ()))
    for name, field in found.get("properties", {}).items():
        yield from rules(f"{path}.{name}", field)
    yield from rules(f"{path}[]", found["items"]) if "items" in found else ()


def section(title: str) -> str:
    """What stands under a heading, up to the next."""
    found = re.search(rf"^##+ {re.escape(title)}\n(.*?)(?=^##|\Z)", DOCUMENT, re.MULTILINE | re.DOTALL)
    assert found, f"no section {title}"
    return found[1]


@pytest.mark.parametrize("part", ["spec", "status"])
def test_every_field_has_its_line(part: str) -> None:
    for path, name in fields(part, schema()["properties"][part]):
        assert f"| `{name}` |" in section(path)


def test_a_line_has_type_default_bounds_and_description() -> None:
    assert "| `progressDeadlineSeconds` | number | `60` | 5 to 3,600 | If not all replicas" in section("spec.rollout")
    assert "| `enabled` | true or false | `true` |" in section("spec.plugins[]")
    assert "| `strategy` | `HotReload` or `Restart` | `HotReload` |" in section("spec.rollout")
    assert "| `name` | text | required | at most 128 characters |" in section("spec.plugins[]")
    assert "| `plugins` | map to list of text | The plugins" in section("status")


@pytest.mark.parametrize("condition", CONDITIONS, ids=lambda condition: condition.name)
def test_every_reason_has_its_line(condition: Any) -> None:
    for reason in condition.reasons:
        assert f"| {reason.status} | `{reason.word}` | {reason.meaning} | {reason.remedy} |" in section(condition.name)


def test_every_rule_has_its_line() -> None:
    told = section("Rules")
    found = list(rules("", schema()))
    assert len({path for path, _ in found}) > 3
    for path, message in found:
        assert f"| `{path.removeprefix('.') or 'the resource'}` | {message} |" in told


def test_links_lead_somewhere() -> None:
    links = re.findall(r"\]\(([^)]+)\)", DOCUMENT)
    assert links
    assert all((REPOSITORY / "docs" / link).exists() for link in links)


def test_tables_are_whole() -> None:
    tables = re.findall(r"(?:^\|.*\n)+", DOCUMENT, re.MULTILINE)
    for table in tables:
        assert len({line.count("|") for line in table.splitlines()}) == 1
