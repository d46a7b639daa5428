"""Renders SchedulerProfiles to the KubeSchedulerConfiguration of the scheduler."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import yaml

from pilotage.config.catalogue import Catalogue, ExtensionPoint
from pilotage.config.defaults import DEFAULT_PLUGINS
from pilotage.config.sharing import NODES, SHARING
from pilotage.config.types import API_VERSION, KIND
from pilotage.model.outside_services import CREDENTIALS, secret_file
from pilotage.scheduler_profiles.resource import PluginEntry, Point, Spec

_DEFAULT_WEIGHTS = {plugin.name: plugin.weight for plugin in DEFAULT_PLUGINS}
_SORTER, _BINDER = "PrioritySort", "DefaultBinder"


class _Plain(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc] # which one is known at run time
    """Writes YAML without aliases, which the scheduler's parser does not support."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: Any, text: str) -> Any:
    # Unquoted, some words are numbers or booleans for one YAML parser and strings for another.
    is_plain = _WORD.fullmatch(text) and text.lower() not in _NO_WORDS
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if is_plain else '"')


_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*")
_NO_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
_Plain.add_representer(str, _text)


def configuration(profiles: Iterable[Mapping[str, Any]], extenders: Sequence[Mapping[str, Any]], idle: str) -> str:
    """Return the text for these profiles; without any, an idle one, since an empty list would mean the default."""
    ordered = sorted(with_one_queue_sort(profiles), key=lambda profile: str(profile["schedulerName"]))
    document = {"apiVersion": API_VERSION, "kind": KIND, "profiles": ordered or [_idle(idle)]}
    if extenders:
        document["extenders"] = list(extenders)
    return yaml_text(document)


def yaml_text(document: Mapping[str, Any]) -> str:
    """Return YAML that all parsers read alike."""
    return yaml.dump(document, Dumper=_Plain, sort_keys=False, allow_unicode=True, width=120)


def _idle(name: str) -> Mapping[str, Any]:
    """Return an idle profile that reads nothing: the scheduler may lack the rights of the default plugins."""
    least = [{"name": _SORTER}, {"name": _BINDER}]
    return {"schedulerName": name, "plugins": {"multiPoint": {"enabled": least, "disabled": [{"name": "*"}]}}}


def with_one_queue_sort(profiles: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return profiles with identical queueSort sections: the scheduler compares them literally."""
    given = list(profiles)
    point = ExtensionPoint.QUEUE_SORT.value
    sets = [profile.get("plugins", {}).get(point, {}) for profile in given]
    if all(each == sets[0] for each in sets):
        return given
    words = ("disabled", "enabled")
    all_of = {word: {entry["name"]: entry for each in sets for entry in each.get(word, ())} for word in words}
    agreed = {word: [all_of[word][name] for name in sorted(all_of[word])] for word in words if all_of[word]}
    return [{**profile, "plugins": {**profile.get("plugins", {}), point: agreed}} for profile in given]


def joined_extenders(lists: Iterable[Sequence[Mapping[str, Any]]]) -> list[Mapping[str, Any]]:
    """Return the extenders of all profiles, each once: the scheduler has one list."""
    joined: list[Mapping[str, Any]] = []
    for extenders in lists:
        joined += [extender for extender in extenders if extender not in joined]
    return joined


def extenders_of(spec: Spec, credentials: str = CREDENTIALS) -> list[dict[str, Any]]:
    """Return the extenders of one profile; the fields are those of the configuration, where Secrets are files."""
    found = [extender.model_dump(mode="json", by_alias=True, exclude_none=True) for extender in spec.extenders]
    for tls in (extender["tlsConfig"] for extender in found if "tlsConfig" in extender):
        for ref, file in (("certSecretRef", "certFile"), ("keySecretRef", "keyFile")):
            if ref in tls:
                tls[file] = secret_file(credentials, **tls.pop(ref))
    return found


def profile_of(scheduler_name: str, spec: Spec, catalogue: Catalogue) -> dict[str, Any]:
    """Return one profile of the configuration; all plugins of the spec must be known."""
    sets = _Sets(spec, catalogue)
    for entry in spec.plugins:  # 1. the entry of each plugin
        sets.take(entry)
    sets.settle_queue_sort()  # 2. one plugin sorts the queue
    sets.complete()  # 3. required plugins
    profile: dict[str, Any] = {"schedulerName": scheduler_name}
    if spec.percentage_of_nodes_to_score is not None:
        profile["percentageOfNodesToScore"] = spec.percentage_of_nodes_to_score
    if plugins := sets.plugins():
        profile["plugins"] = plugins
    arguments = [{"name": entry.name, "args": entry.args} for entry in spec.plugins if entry.enabled and entry.args]
    arguments += _settings(spec)
    return profile | ({"pluginConfig": arguments} if arguments else {})


def _settings(spec: Spec) -> list[dict[str, Any]]:
    """Return the engine's settings; the taint is the operator's."""
    said = {
        SHARING: spec.sharing and spec.sharing.model_dump(mode="json", by_alias=True, exclude_none=True),
        NODES: spec.nodes and spec.nodes.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"taint"}),
    }
    return [{"name": name, "args": args} for name, args in said.items() if args]


class _Sets:
    """The plugin sets of one profile while they are built."""

    def __init__(self, spec: Spec, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._has_base = spec.base == "Kubernetes"
        self._base = _DEFAULT_WEIGHTS if self._has_base else {}
        self._entries = {entry.name: entry for entry in spec.plugins}
        self._enabled: dict[str, list[dict[str, Any]]] = {}
        self._disabled: dict[str, list[str]] = {} if self._has_base else {"multiPoint": ["*"]}

    def take(self, entry: PluginEntry) -> None:
        """Record the differences for one plugin."""
        is_default = entry.name in self._base
        if is_default and (not entry.enabled or entry.points):
            self._disable("multiPoint", entry.name)
        if not entry.enabled:
            return
        if entry.points:
            for point in entry.points:
                weight = entry.weight or self._base.get(entry.name, 0) if point == Point.SCORE else 0
                self._enable(point.value, entry.name, weight)
        elif entry.weight or not is_default:
            self._enable("multiPoint", entry.name, entry.weight or 0)

    def settle_queue_sort(self) -> None:
        """Let another plugin replace PrioritySort, unless the profile names PrioritySort.

        A plugin that does more than sort replaces it only if it lists queueSort: all profiles share one queue order.
        """
        others = [name for name in self._at(ExtensionPoint.QUEUE_SORT) if name != _SORTER]
        if _SORTER in self._at(ExtensionPoint.QUEUE_SORT):
            for name in others:
                # A profile that also lists queueSort for another plugin gets an error: there can be only one.
                if not self._entries[name].points:
                    self._disable(ExtensionPoint.QUEUE_SORT.value, name)
        elif others and self._has_base and _SORTER not in self._entries:
            besides = [name for name in others if not self._only_sorts(name) and not self._entries[name].points]
            for name in besides:
                self._disable(ExtensionPoint.QUEUE_SORT.value, name)
            if len(besides) < len(others):
                self._disable("multiPoint", _SORTER)

    def _only_sorts(self, name: str) -> bool:
        return set(self._catalogue.points(name)) == {ExtensionPoint.QUEUE_SORT}

    def complete(self) -> None:
        """Add a queue sort plugin and a binder if there are none."""
        if self._has_base:
            return
        for name, point in ((_SORTER, ExtensionPoint.QUEUE_SORT), (_BINDER, ExtensionPoint.BIND)):
            if name not in self._entries and not self._at(point):
                self._enable("multiPoint", name)

    def plugins(self) -> dict[str, Any]:
        """Return the sets in the configuration's format."""
        points = [*self._disabled, *(point for point in self._enabled if point not in self._disabled)]
        return {
            point: {
                **({"disabled": [{"name": name} for name in off]} if (off := self._disabled.get(point)) else {}),
                **({"enabled": on} if (on := self._enabled.get(point)) else {}),
            }
            for point in points
        }

    def _at(self, point: ExtensionPoint) -> list[str]:
        """Return the plugins of the profile that are enabled at a point."""
        return [
            entry.name
            for entry in self._entries.values()
            if entry.enabled
            and point in self._catalogue.points(entry.name)
            and (entry.points is None or point.value in entry.points)
        ]

    def _enable(self, point: str, name: str, weight: int = 0) -> None:
        self._enabled.setdefault(point, []).append({"name": name} | ({"weight": weight} if weight else {}))

    def _disable(self, point: str, name: str) -> None:
        self._disabled.setdefault(point, []).append(name)
