"""Validation of a spec with the scheduler's own code, with all errors at once."""

import json
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from pilotage.config.catalogue import ExtensionPoint
from pilotage.config.faults import InvalidConfiguration
from pilotage.config.kinds import without_kind
from pilotage.config.load import Loaded, load
from pilotage.config.suggestions import did_you_mean
from pilotage.config.types import API_VERSION, KIND
from pilotage.framework.api.plugin import Permission, Plugin
from pilotage.framework.runtime.reading import rights_to_read
from pilotage.model.outside_services import CREDENTIALS, OutsideRules
from pilotage.plugins.catalogue import BUILT_IN, BrokenPlugin, PluginCatalogue
from pilotage.plugins.plugin_files import first_line
from pilotage.profiles import build_profiles
from pilotage.scheduler_profiles.hashes import canonical, spec_hash
from pilotage.scheduler_profiles.render import extenders_of, profile_of, with_one_queue_sort
from pilotage.scheduler_profiles.resource import PluginEntry, Spec
from pilotage.scheduler_profiles.services import Services
from pilotage.scheduler_profiles.wording import shortened, told, told_by_model, without_faults

LARGEST = 256 << 10  # bytes of one profile
_REMEMBERED = 1024
INVALID, UNKNOWN_PLUGIN, BROKEN_PLUGIN, TOO_LARGE = "Invalid", "UnknownPlugin", "BrokenPlugin", "TooLarge"
# These stop any spec; all others stop only a spec that is not running yet.
_NEVER_RUNS = frozenset({INVALID, UNKNOWN_PLUGIN, BROKEN_PLUGIN, TOO_LARGE})
# For use if the listed hosts and the mounted Secrets are unknown.
OFFLINE = OutsideRules(hosts=None)


@dataclass(frozen=True)
class Complaint:
    """One error in a spec: the reason as one word, and a message."""

    reason: str
    message: str
    plugin: str = ""  # the unknown plugin
    is_harmless: bool = False  # the spec can run anyway


@dataclass(frozen=True)
class Verdict:
    """The errors of a spec, and its effective form."""

    scheduler_name: str
    complaints: tuple[Complaint, ...] = ()
    spec: Spec = field(default_factory=Spec)
    profile: Mapping[str, Any] = field(default_factory=dict)
    extenders: Sequence[Mapping[str, Any]] = ()
    points: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    queue_sort: str = ""  # the plugin and its arguments
    needs: tuple[tuple[str, Permission], ...] = ()  # plugin by plugin

    @property
    def can_run(self) -> bool:
        """Return whether the scheduler can build it."""
        return not any(each.reason in _NEVER_RUNS and not each.is_harmless for each in self.complaints)

    @property
    def plugins(self) -> frozenset[str]:
        """Return the enabled plugins."""
        return frozenset(name for names in self.points.values() for name in names)


class Judge:
    """Validates specs with one catalogue of plugins; verdicts are cached.

    Without rules, a spec may make the scheduler call any service.
    """

    def __init__(self, catalogue: PluginCatalogue, trouble: str = "", rules: OutsideRules | None = OFFLINE) -> None:
        self.rules = rules
        self._catalogue = catalogue
        self._trouble = trouble  # the errors of plugin folders
        self._known: OrderedDict[tuple[str, str], Verdict] = OrderedDict()

    def judge(self, name: str, spec: Any) -> Verdict:
        """Return the verdict on the spec of a profile of this name."""
        try:
            key = name, spec_hash(spec)
            if key not in self._known:
                self._known[key] = self._judge(name, spec)
                if len(self._known) > _REMEMBERED:
                    self._known.popitem(last=False)
            self._known.move_to_end(key)
            return self._known[key]
        except RecursionError:
            return Verdict(name, (Complaint(INVALID, "spec: nested too deeply; flatten it"),))

    def together(self, profiles: Sequence[Mapping[str, Any]], extenders: Sequence[Mapping[str, Any]]) -> str:
        """Return the error of combining profiles that are valid one by one; empty if there is none."""
        try:
            load(_text(with_one_queue_sort(profiles), extenders), self._catalogue)
        except InvalidConfiguration as error:
            return shortened("; ".join(dict.fromkeys(fault.text for fault in error.faults)))
        return ""

    def _judge(self, name: str, given: Any) -> Verdict:
        size = len(canonical(given).encode(errors="surrogatepass"))
        if size > LARGEST:  # 1. the size, before parsing the rest
            text = f"spec: it has {size >> 10} KiB, the limit is {LARGEST >> 10}; shorten the arguments of its plugins"
            return Verdict(name, (Complaint(TOO_LARGE, text),))
        spec, complaints = read_spec(given if given is not None else {})  # 2. the model of the resource
        if spec is None:
            return Verdict(name, tuple(complaints))
        scheduler_name = spec.scheduler_name or name
        complaints += self._about_names(spec)  # 3. names; the rest can be validated without them
        known = spec.model_copy(update={"plugins": [self._known_part(entry) for entry in self._known_of(spec)]})
        directory = CREDENTIALS if self.rules is None else self.rules.directory
        profile, extenders = profile_of(scheduler_name, known, self._catalogue), extenders_of(known, directory)
        loaded, more = self._try(profile, extenders)  # 4. the scheduler's validation
        complaints += more
        if loaded is None:
            return Verdict(scheduler_name, tuple(complaints), spec)
        try:
            complaints += self._about_services(
                known, loaded
            )  # 5. services that the scheduler would call, and credentials
            facts = self._facts(loaded)  # 6. its plugins' declarations
        except BrokenPlugin as error:
            wrong = Complaint(BROKEN_PLUGIN, shortened(f"spec.plugins: {error}"))
            return Verdict(scheduler_name, (*complaints, wrong), spec)
        return Verdict(scheduler_name, tuple(complaints), spec, profile, extenders, *facts)

    def has_built_in(self, plugin: str) -> bool:
        """Return whether a plugin is built in, so that the chart knows its permissions."""
        entry = self._catalogue.entry(plugin)
        return entry is not None and entry.origin == BUILT_IN

    def _about_services(self, spec: Spec, loaded: Loaded) -> Iterator[Complaint]:
        if self.rules is not None:
            found = Services(spec, loaded.config.extenders, self._catalogue, self.rules)
            yield from (Complaint(reason, shortened(text)) for reason, text in found.complaints())

    def _known_of(self, spec: Spec) -> list[PluginEntry]:
        first = {entry.name: entry for entry in reversed(spec.plugins)}
        return [
            entry
            for entry in spec.plugins
            if entry.name in self._catalogue.names() and first[entry.name] is entry and self._known_points(entry) != []
        ]

    def _known_part(self, entry: PluginEntry) -> PluginEntry:
        args = entry.args if self._catalogue.arguments(entry.name) else None
        return entry.model_copy(update={"points": self._known_points(entry), "args": args})

    def _known_points(self, entry: PluginEntry) -> list[Any] | None:
        has = {point.value for point in self._catalogue.points(entry.name)}
        return None if entry.points is None else [point for point in entry.points if point.value in has]

    def _about_names(self, spec: Spec) -> Iterator[Complaint]:
        seen: set[str] = set()
        for entry in spec.plugins:
            at = f"spec.plugins[name={entry.name}]"
            if entry.name in seen:
                yield Complaint(INVALID, f"{at}: the plugin is listed twice; remove one of the entries")
            elif entry.name not in self._catalogue.names():
                yield from self._about_unknown(at, entry)
            else:
                yield from self._about_entry(at, entry)
            seen.add(entry.name)

    def _about_unknown(self, at: str, entry: PluginEntry) -> Iterator[Complaint]:
        question = did_you_mean(entry.name, self._catalogue.names()).replace('"', "'")
        # A disabled plugin need not exist: its file may be broken or deleted. But it may be a typo.
        if entry.enabled or question:
            text = "".join(f"; {each}" for each in (question, self._trouble) if each)
            message = shortened(f"{at}: unknown plugin{text}")
            yield Complaint(UNKNOWN_PLUGIN, message, entry.name, is_harmless=not entry.enabled)

    def _about_entry(self, at: str, entry: PluginEntry) -> Iterator[Complaint]:
        has = sorted(point.value for point in self._catalogue.points(entry.name))
        for point in entry.points or ():
            if point.value not in has:
                text = f"{entry.name} does not implement {point.value}, only {', '.join(has)}"
                yield Complaint(INVALID, f"{at}.points: {text}")
        if entry.args and self._catalogue.arguments(entry.name) is None:
            yield Complaint(INVALID, f"{at}.args: {entry.name} has no arguments; remove them")

    def _try(
        self, profile: Mapping[str, Any], extenders: Sequence[Mapping[str, Any]]
    ) -> tuple[Loaded | None, list[Complaint]]:
        name = str(profile["schedulerName"])
        try:
            loaded = load(_text([profile], extenders), self._catalogue)
            build_profiles(loaded, self._catalogue)
        except InvalidConfiguration as error:
            arguments = [str(entry["name"]) for entry in profile.get("pluginConfig", ())]
            messages = dict.fromkeys(told(fault, name, arguments) for fault in error.faults)
            return None, [Complaint(INVALID, message) for message in messages]
        except BrokenPlugin as error:
            return None, [Complaint(INVALID, shortened(f"spec.plugins: {error}"))]
        return loaded, []

    def _facts(self, loaded: Loaded) -> tuple[dict[str, tuple[str, ...]], str, tuple[tuple[str, Permission], ...]]:
        points = {point.value: names for point, names in loaded.expansions[0].points.items() if names}
        sorter = points[ExtensionPoint.QUEUE_SORT.value][0]
        arguments = {entry.name: entry.args for entry in loaded.config.profiles[0].plugin_config}
        taking_part = sorted({name for names in points.values() for name in names})
        made = {name: self._catalogue.construct(name, without_kind(arguments.get(name) or {})) for name in taking_part}
        needs = tuple((name, right) for name, plugin in made.items() for right in _rights(plugin))
        return points, f"{sorter} {canonical(arguments.get(sorter) or {})}", needs


def _rights(plugin: Plugin) -> Iterator[Permission]:
    """Yield a plugin's permissions; BrokenPlugin if that fails."""
    yield from rights_to_read(plugin)
    try:
        needed: list[Any] = list(plugin.needed())
        if strange := [each for each in needed if not isinstance(each, Permission)]:
            raise TypeError(f"{type(strange[0]).__name__} {strange[0]!r:.80} is not a Permission")
    except (Exception, SystemExit) as error:
        what = f"{type(error).__name__}: {first_line(error)}"
        raise BrokenPlugin(f"cannot determine the permissions of {plugin.name}: {what}") from error
    yield from needed


def _text(profiles: Sequence[Mapping[str, Any]], extenders: Sequence[Mapping[str, Any]]) -> str:
    more = {"extenders": list(extenders)} if extenders else {}
    return json.dumps({"apiVersion": API_VERSION, "kind": KIND, "profiles": list(profiles), **more})


def read_spec(given: Any) -> tuple[Spec | None, list[Complaint]]:
    """Parse a spec; invalid parts are left out, so that the rest can still be validated."""
    try:
        return Spec.model_validate(given), []
    except ValidationError as error:
        complaints = [Complaint(INVALID, message) for message in told_by_model(error, given)]
        try:
            return Spec.model_validate(without_faults(given, error)), complaints
        except ValidationError:
            return None, complaints
