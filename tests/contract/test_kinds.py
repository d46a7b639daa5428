"""A kind is entered in one place, its class in pilotage.kinds: every table that depends on kinds is derived from it."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from pilotage.cluster.watch.resources import RESOURCES
from pilotage.cluster.watch.watch_events import EventReader
from pilotage.framework.api.events import Action, Event, Resource, Retry, title_of, what_changes
from pilotage.framework.api.plugin import Permission
from pilotage.framework.runtime.reading import rights_to_read
from pilotage.kinds.decoding import decode
from pilotage.kinds.every import KNOWN, OURS
from pilotage.kinds.kube_object import KubeObject
from pilotage.plugins.catalogue import Entry, built_in
from pilotage.scheduler_profiles.judge import Judge
from pilotage_operator.profiles.rights import needed
from pilotage_operator.profiles.world import Right

ROOT = Path(__file__).parents[2]
CHART_RIGHTS: dict[str, Any] = yaml.safe_load((ROOT / "charts/pilotage/files/plugin-rights.yaml").read_text())
SOURCES = [ROOT / "scheduler/src", ROOT / "operator/src"]
CATALOGUE = built_in()
READERS = [(entry, kind) for entry in CATALOGUE for kind in entry.plugin.reads]

# Words that are also the name of something else.
ORDINARY = {"services", "namespaces", "nodes"}
# Where a literal is no entry of a kind, and why.
ALLOWED = {
    "model/gangs.py": "how a pod names its gang, of which the kinds above know more",
    "plugins/network/_shared/app_groups.py": "a label of pods, which is the name of the group",
    "plugins/volumes/volume_binding/volume_progress.py": "kube-scheduler's messages, word for word",
    "framework/api/events.py": "kinds that kube-scheduler has events for, and nobody here reads",
}


def manifest(kind: type[KubeObject]) -> dict[str, Any]:
    scope = {"namespace": "default"} if kind.api.scope == "Namespaced" else {}
    return {"apiVersion": kind.api.api_version, "kind": kind.api.name, "metadata": {"name": "any", **scope}}


@pytest.mark.parametrize("kind", OURS, ids=lambda kind: kind.api.title)
class TestEveryKind:
    def test_is_declared_in_its_own_folder(self, kind: type[KubeObject]) -> None:
        assert kind.__module__.startswith("pilotage.kinds.")

    def test_is_watched_where_the_api_has_it(self, kind: type[KubeObject]) -> None:
        found = [each.path for each in RESOURCES if each.shape is kind]
        assert found == ([kind.api.path()] if kind.api.watched else [])

    def test_is_decoded_from_files_and_from_a_watch(self, kind: type[KubeObject]) -> None:
        assert KNOWN.shapes_of(manifest(kind)) == (kind,)
        assert isinstance(decode(manifest(kind), kind), kind)
        for resource in (each for each in RESOURCES if each.shape is kind):
            assert isinstance(EventReader(resource).object(json.dumps(manifest(kind)).encode()), kind)

    def test_wakes_who_waits_for_it(self, kind: type[KubeObject]) -> None:
        event = Event(what_changes(kind), Action.UPDATE)
        assert event.name == f"{kind.api.title}Update"
        assert Retry(kind, Action.UPDATE).matches(event)
        named = [each for each in Resource if each.value == kind.api.title]
        assert title_of(what_changes(kind)) == kind.api.title
        assert all(Retry(each, Action.ALL).matches(event) for each in named)


@pytest.mark.parametrize(("entry", "kind"), READERS, ids=lambda each: getattr(each, "__name__", "") or each.plugin.name)
def test_what_a_plugin_reads_is_in_the_chart(entry: Entry, kind: type[KubeObject]) -> None:
    assert Permission(kind.api.group, kind.api.plural, ("list", "watch")) in rights_to_read(entry.plugin)
    granted = [
        (group, resource)
        for rule in CHART_RIGHTS[entry.plugin.name]
        if {"list", "watch"} <= set(rule["verbs"])
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    ]
    assert (kind.api.group, kind.api.plural) in granted


@pytest.mark.parametrize(("entry", "kind"), READERS, ids=lambda each: getattr(each, "__name__", "") or each.plugin.name)
def test_what_a_plugin_reads_is_asked_for_by_the_operator(entry: Entry, kind: type[KubeObject]) -> None:
    verdict = Judge(CATALOGUE).judge("p", {"plugins": [{"name": entry.plugin.name}]})
    assert verdict.complaints == ()
    assert {Right(kind.api.group, kind.api.plural, verb) for verb in ("list", "watch")} <= needed([verdict])


def texts_in(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Every text that code has, but for docstrings and notes."""
    notes = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in notes:
            yield node.lineno, node.value


def test_no_other_module_writes_the_address_of_a_kind() -> None:
    plurals = {kind.api.plural for kind in OURS} - ORDINARY
    groups = {kind.api.group for kind in OURS if "." in kind.api.group} - {"pilotage.dev"}  # which has other resources
    # Not the key of a label or an annotation, which begins with a group: scheduling.x-k8s.io/pod-group.
    key = r"(?![\w.-]|/(?!v[0-9])[a-z])"
    words = re.compile(rf"(?<![\w.-])({'|'.join(map(re.escape, sorted(plurals | groups)))}){key}")
    found: dict[str, list[str]] = {}
    for source in SOURCES:
        for path in sorted(source.rglob("*.py")):
            place = "/".join(path.relative_to(source).parts[1:])
            if not place.startswith("kinds/"):
                for line, text in texts_in(ast.parse(path.read_text())):
                    if words.search(text):
                        found.setdefault(place, []).append(f"{line}: {text[:80]}")
    assert {place: lines for place, lines in found.items() if place not in ALLOWED} == {}
    assert not ALLOWED.keys() - found.keys(), "these need no exception any more"
