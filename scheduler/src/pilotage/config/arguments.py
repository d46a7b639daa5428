"""Collects the arguments of plugins, which the plugins themselves read and complete."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pilotage.config.catalogue import Arguments, Catalogue, ExtensionPoint
from pilotage.config.documents import At
from pilotage.config.faults import Fault, Stage, dotted
from pilotage.config.kinds import without_kind, wrong_kind
from pilotage.config.sharing import READERS
from pilotage.config.suggestions import asked_once
from pilotage.config.types import API_VERSION, KubeSchedulerConfiguration, PluginConfig, Profile
from pilotage.model.go_text import quoted

_FIT = "NodeResourcesFit"
# kube-scheduler ignores this point when it adds default arguments.
_FORGOTTEN = ExtensionPoint.POD_GROUP_POST_FILTER


@dataclass
class Settled:
    """A configuration with complete arguments, and the plugins' errors about them."""

    config: KubeSchedulerConfiguration
    of_entries: dict[tuple[int, int], list[Fault]] = field(default_factory=lambda: defaultdict(list))
    other: list[Fault] = field(default_factory=list)


def settle(config: KubeSchedulerConfiguration, catalogue: Catalogue) -> Settled:
    """Let each plugin read its arguments, and add defaults for plugins without any."""
    settled = Settled(config)
    profiles = []
    for i, profile in enumerate(config.profiles):
        known = catalogue.of(profile.scheduler_name)
        entries = [_entry(settled, known, (i, j), entry) for j, entry in enumerate(profile.plugin_config)]
        entries += _defaults(settled, known, i)
        _refuse_forgotten(settled, known, i, {entry.name for entry in entries})
        profiles.append(profile.model_copy(update={"plugin_config": tuple(entries)}))
    settled.config = config.model_copy(update={"profiles": tuple(profiles)})
    _ignore_what_extenders_manage(settled)
    return settled


def enabled(profile: Profile, *, without: ExtensionPoint | None = None) -> set[str]:
    """The names of all plugins that a profile enables anywhere."""
    sets = [profile.plugins.multi_point, *(profile.plugins.at(point) for point in ExtensionPoint if point != without)]
    return {plugin.name for plugins in sets for plugin in plugins.enabled}


def _entry(settled: Settled, catalogue: Catalogue, place: tuple[int, int], entry: PluginConfig) -> PluginConfig:
    at: At = ("profiles", place[0], "pluginConfig", place[1])
    if entry.name in READERS:
        return _setting(settled, place, at, entry)
    read = catalogue.arguments(entry.name)
    if read is None:
        return entry
    wrong = wrong_kind(entry.name, entry.args, lambda plugin: catalogue.arguments(plugin) is not None)
    if wrong:
        settled.other.append(Fault(Stage.DECODING, f"decoding .{dotted(at)}: {wrong}", (*at, "args")))
        return entry
    arguments = read(without_kind(entry.args or {}), (*at, "args"))
    ignored = _ignored_by_extenders(settled.config)
    if entry.name == _FIT and ignored:
        arguments = _as_constructed(arguments, read({**arguments.value, "ignoredResources": ignored}, (*at, "args")))
    _sort_faults(settled, place, entry.name, arguments)
    return _complete(entry.name, arguments.value)


def _setting(settled: Settled, place: tuple[int, int], at: At, entry: PluginConfig) -> PluginConfig:
    """Read the settings of the engine, which belong to no plugin."""
    if not isinstance(entry.args, Mapping | None):
        text = f"decoding .{dotted(at)}: {entry.name}: it must be a map"
        settled.other.append(Fault(Stage.DECODING, text, (*at, "args")))
        return entry
    arguments = READERS[entry.name](entry.args, (*at, "args"))
    _sort_faults(settled, place, entry.name, arguments)
    return PluginConfig(name=entry.name, args=arguments.value)


def _as_constructed(given: Arguments, constructed: Arguments) -> Arguments:
    """The arguments as given, unless the plugin's constructor receives different ones."""
    found = [fault for fault in given.faults if fault.stage != Stage.PROFILES]
    found += [fault for fault in constructed.faults if fault.stage == Stage.PROFILES]
    return Arguments(constructed.value, tuple(found))


def _ignored_by_extenders(config: KubeSchedulerConfiguration) -> list[str]:
    return [r.name for extender in config.extenders for r in extender.managed_resources if r.ignored_by_scheduler]


def _complete(name: str, value: Mapping[str, Any]) -> PluginConfig:
    return PluginConfig(name=name, args={"apiVersion": API_VERSION, "kind": f"{name}Args", **value})


def _sort_faults(settled: Settled, place: tuple[int, int], name: str, arguments: Arguments) -> None:
    at: At = ("profiles", place[0], "pluginConfig", place[1])
    decoding, profile = f"decoding .{dotted(at)}: ", settled.config.profiles[place[0]]
    for fault in arguments.faults:
        match fault.stage:
            case Stage.VALIDATION:
                settled.of_entries[place].append(fault)
            case Stage.PROFILES if name in enabled(profile):  # other plugins are not constructed
                settled.other.append(_constructing(profile, name, fault))
            case Stage.DECODING:
                settled.other.append(replace(fault, text=f"{decoding}decoding args for plugin {name}: {fault.text}"))
    settled.other += _strictness(decoding, name, arguments)


def _strictness(decoding: str, name: str, arguments: Arguments) -> Iterator[Fault]:
    unknown = [fault for fault in arguments.faults if fault.stage == Stage.STRICTNESS]
    if unknown:
        texts = ", ".join(fault.text for fault in unknown)
        hints = asked_once(fault.hint for fault in unknown)
        strict = "strict decoding error: "
        text = f"{decoding}{strict}decoding args for plugin {name}: {strict}{texts}"
        yield Fault(Stage.STRICTNESS, text, unknown[0].at, hints)


def profile_prefix(scheduler: str) -> str:
    """The prefix of kube-scheduler's errors when it builds a profile."""
    return f"initializing profiles: creating profile for scheduler name {scheduler}: "


def _defaults(settled: Settled, catalogue: Catalogue, i: int) -> Iterator[PluginConfig]:
    profile = settled.config.profiles[i]
    given = {entry.name for entry in profile.plugin_config}
    for name in sorted(enabled(profile, without=_FORGOTTEN) - given):
        read = catalogue.arguments(name)
        if read is not None:
            arguments = read({}, ("profiles", i, "plugins"))
            missing = ", ".join(f"{fault.at[-1]}: ..." for fault in arguments.faults)
            settled.other += _without_arguments(profile, name, arguments.faults, missing)
            yield _complete(name, arguments.value)


def _refuse_forgotten(settled: Settled, catalogue: Catalogue, i: int, have: set[str]) -> None:
    profile = settled.config.profiles[i]
    for name in sorted(enabled(profile) - have):
        read = catalogue.arguments(name)
        if read is not None:
            faults = read(None, ("profiles", i, "plugins", _FORGOTTEN.value)).faults
            settled.other += _without_arguments(profile, name, faults)


def _without_arguments(profile: Profile, name: str, faults: Iterable[Fault], args: str = "") -> Iterator[Fault]:
    hint = f"give it arguments: pluginConfig: [{{name: {name}, args: {{{args}}}}}]"
    for fault in faults:
        yield replace(_constructing(profile, name, fault), stage=Stage.PROFILES, hint=fault.hint or hint)


def _constructing(profile: Profile, name: str, fault: Fault) -> Fault:
    text = f"{profile_prefix(profile.scheduler_name)}initializing plugin {quoted(name)}: {fault.text}"
    return replace(fault, text=text)


def _ignore_what_extenders_manage(settled: Settled) -> None:
    """If extenders request it, replace the resources that NodeResourcesFit ignores."""
    config = settled.config
    resources = _ignored_by_extenders(config)
    if not resources:
        return
    profiles = tuple(_ignoring(profile, resources) for profile in config.profiles)
    settled.config = config.model_copy(update={"profiles": profiles})
    for i, profile in enumerate(profiles):
        if not any(entry.name == _FIT for entry in profile.plugin_config):
            text = "couldn't build extenders: can't find NodeResourcesFitArgs in plugin config"
            hint = f'profile "{profile.scheduler_name}" must enable {_FIT}, or have arguments for it'
            settled.other.append(Fault(Stage.EXTENDERS, text, ("profiles", i), hint))


def _ignoring(profile: Profile, resources: list[str]) -> Profile:
    entries = (
        entry.model_copy(update={"args": {**entry.args, "ignoredResources": resources}})
        if entry.name == _FIT and isinstance(entry.args, dict)
        else entry
        for entry in profile.plugin_config
    )
    return profile.model_copy(update={"plugin_config": tuple(entries)})
