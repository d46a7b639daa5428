"""The arguments of plugins: read and completed by the plugins themselves, put in their places here."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pilotage.config.catalogue import Arguments, Catalogue, ExtensionPoint, ReadArguments
from pilotage.config.documents import At
from pilotage.config.faults import Fault, Stage, dotted
from pilotage.config.types import API_VERSION, KubeSchedulerConfiguration, PluginConfig, Profile

_GROUP = API_VERSION.split("/")[0]
_FIT = "NodeResourcesFit"
# kube-scheduler forgets this point when it looks for plugins that need their defaults.
_FORGOTTEN = ExtensionPoint.POD_GROUP_POST_FILTER


@dataclass
class Settled:
    """A configuration whose arguments are complete, and what plugins said about them."""

    config: KubeSchedulerConfiguration
    of_entries: dict[tuple[int, int], list[Fault]] = field(default_factory=lambda: defaultdict(list))
    other: list[Fault] = field(default_factory=list)


def settle(config: KubeSchedulerConfiguration, catalogue: Catalogue) -> Settled:
    """Let each plugin read its arguments, and ask those that got none for their defaults."""
    settled = Settled(config)
    profiles = []
    for i, profile in enumerate(config.profiles):
        entries = [_entry(settled, catalogue, (i, j), entry) for j, entry in enumerate(profile.plugin_config)]
        entries += _defaults(profile, catalogue)
        _refuse_forgotten(settled, catalogue, i, {entry.name for entry in entries})
        profiles.append(profile.model_copy(update={"plugin_config": tuple(entries)}))
    settled.config = config.model_copy(update={"profiles": tuple(profiles)})
    _ignore_what_extenders_manage(settled)
    return settled


def enabled(profile: Profile, *, without: ExtensionPoint | None = None) -> set[str]:
    """The names of all plugins that a profile enables anywhere."""
    sets = [profile.plugins.multi_point, *(profile.plugins.at(point) for point in ExtensionPoint if point != without)]
    return {plugin.name for plugins in sets for plugin in plugins.enabled}


def _entry(settled: Settled, catalogue: Catalogue, place: tuple[int, int], entry: PluginConfig) -> PluginConfig:
    read = catalogue.arguments(entry.name)
    if read is None:
        return entry
    at: At = ("profiles", place[0], "pluginConfig", place[1])
    wrong = _wrong_kind(entry, catalogue)
    if wrong:
        settled.other.append(Fault(Stage.DECODING, f"decoding .{dotted(at)}: {wrong}", (*at, "args")))
        return entry
    arguments = _read(read, entry.args or {}, (*at, "args"))
    _sort_faults(settled, place, entry.name, arguments)
    return _complete(entry.name, arguments.value)


def _read(read: ReadArguments, args: Mapping[str, Any], at: At) -> Arguments:
    return read({key: value for key, value in args.items() if key not in ("apiVersion", "kind")}, at)


def _complete(name: str, value: Mapping[str, Any]) -> PluginConfig:
    return PluginConfig(name=name, args={"apiVersion": API_VERSION, "kind": f"{name}Args", **value})


def _wrong_kind(entry: PluginConfig, catalogue: Catalogue) -> str:
    if entry.args is not None and not isinstance(entry.args, dict):
        return f"decoding args for plugin {entry.name}: they must be a map"
    args = entry.args or {}
    wanted, kind = f"{entry.name}Args", args.get("kind") or f"{entry.name}Args"
    version = args.get("apiVersion") or API_VERSION
    if version != API_VERSION or catalogue.arguments(str(kind).removesuffix("Args")) is None:
        return f"decoding args for plugin {entry.name}: {not_registered(kind, version)}"
    if kind != wanted:
        return f"args for plugin {entry.name} were not of type {wanted}.{_GROUP}, got {kind}.{_GROUP}"
    return ""


def not_registered(kind: object, version: object) -> str:
    """How Kubernetes says that it does not know this kind."""
    return f'no kind "{kind}" is registered for version "{version}" in scheme "pkg/runtime/scheme.go:111"'


def _sort_faults(settled: Settled, place: tuple[int, int], name: str, arguments: Arguments) -> None:
    at: At = ("profiles", place[0], "pluginConfig", place[1])
    decoding, profile = f"decoding .{dotted(at)}: ", settled.config.profiles[place[0]]
    for fault in arguments.faults:
        match fault.stage:
            case Stage.VALIDATION:
                settled.of_entries[place].append(fault)
            case Stage.PROFILES if name in enabled(profile):  # nobody else is constructed
                settled.other.append(_constructing(profile, name, fault))
            case Stage.DECODING:
                settled.other.append(replace(fault, text=f"{decoding}decoding args for plugin {name}: {fault.text}"))
    settled.other += _strictness(decoding, name, arguments)


def _strictness(decoding: str, name: str, arguments: Arguments) -> Iterator[Fault]:
    unknown = [fault for fault in arguments.faults if fault.stage == Stage.STRICTNESS]
    if unknown:
        texts = ", ".join(fault.text for fault in unknown)
        hints = ", ".join(fault.hint for fault in unknown if fault.hint)
        strict = "strict decoding error: "
        text = f"{decoding}{strict}decoding args for plugin {name}: {strict}{texts}"
        yield Fault(Stage.STRICTNESS, text, unknown[0].at, hints)


def profile_prefix(scheduler: str) -> str:
    """How kube-scheduler begins what is wrong when it builds a profile."""
    return f"initializing profiles: creating profile for scheduler name {scheduler}: "


def _defaults(profile: Profile, catalogue: Catalogue) -> Iterator[PluginConfig]:
    given = {entry.name for entry in profile.plugin_config}
    for name in sorted(enabled(profile, without=_FORGOTTEN) - given):
        read = catalogue.arguments(name)
        if read is not None:
            yield _complete(name, read({}, ()).value)


def _refuse_forgotten(settled: Settled, catalogue: Catalogue, i: int, have: set[str]) -> None:
    profile = settled.config.profiles[i]
    for name in sorted(enabled(profile) - have):
        read = catalogue.arguments(name)
        if read is not None:
            hint = f"give it arguments: pluginConfig: [{{name: {name}, args: {{}}}}]"
            faults = read(None, ("profiles", i, "plugins", _FORGOTTEN.value)).faults
            settled.other += [replace(_constructing(profile, name, fault), hint=fault.hint or hint) for fault in faults]


def _constructing(profile: Profile, name: str, fault: Fault) -> Fault:
    text = f'{profile_prefix(profile.scheduler_name)}initializing plugin "{name}": {fault.text}'
    return replace(fault, text=text)


def _ignore_what_extenders_manage(settled: Settled) -> None:
    """Where extenders ask for it, replace the resources that NodeResourcesFit does not look at."""
    config = settled.config
    resources = [r.name for extender in config.extenders for r in extender.managed_resources if r.ignored_by_scheduler]
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
