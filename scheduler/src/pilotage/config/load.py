"""The entry point: loads a complete, validated configuration, or raises one error that lists all problems."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pilotage.config.advice import advise
from pilotage.config.arguments import enabled, profile_prefix, settle
from pilotage.config.catalogue import Catalogue, ExtensionPoint
from pilotage.config.decoding import decode
from pilotage.config.defaults import with_defaults
from pilotage.config.documents import At, Document, Unreadable, documents, read_file
from pilotage.config.expansion import Complaint, Expansion, expand, extended, merged
from pilotage.config.faults import Fault, InvalidConfiguration, Stage
from pilotage.config.json_text import json_document, looks_like_json
from pilotage.config.sharing import READERS
from pilotage.config.suggestions import did_you_mean
from pilotage.config.types import KubeSchedulerConfiguration, Profile
from pilotage.config.validation import validate
from pilotage.model.go_text import quoted


@dataclass(frozen=True)
class Loaded:
    """A complete configuration, the plugins of each profile, and notes for its author."""

    config: KubeSchedulerConfiguration
    expansions: tuple[Expansion, ...]  # one for each profile
    warnings: tuple[str, ...] = ()
    limits_requests: bool = False  # whether the file limits the requests per second


def load(source: Path | str, catalogue: Catalogue, also: Collection[str] = (), name: str = "") -> Loaded:
    """Load a file (a Path) or a text (a str, of this name); InvalidConfiguration lists every fault.

    The plugins of `also` are enabled in every profile that does not name them.
    """
    name = name or (str(source) if isinstance(source, Path) else "<configuration>")
    document, warnings = _first_document(source, name)
    given, faults = decode(document)  # 1. types and unknown fields
    if given is None:
        raise _refusal(document, faults)
    settled = settle(_with_plugins(with_defaults(given), also), catalogue)  # 2. defaults
    faults += validate(settled.config, settled.of_entries)  # 3. validation
    faults += settled.other
    profiles = settled.config.profiles
    expansions = [expand(each, catalogue.of(each.scheduler_name)) for each in profiles]  # 4. the plugins of each point
    faults += _of_profiles(profiles, expansions, catalogue)
    if faults:
        raise _refusal(document, faults)
    config = _only_running(settled.config, catalogue)
    limited = bool(given.client_connection.qps)
    return Loaded(config, tuple(expansions), (*warnings, *advise(given, catalogue)), limited)


def effective(config: KubeSchedulerConfiguration) -> dict[str, Any]:
    """The complete configuration in the format of kube-scheduler's --write-config-to, for YAML or JSON."""
    return config.model_dump(mode="json", by_alias=True)


def _first_document(source: Path | str, name: str) -> tuple[Document, list[str]]:
    try:
        data = read_file(source) if isinstance(source, Path) else source.encode(errors="surrogatepass")
        if looks_like_json(data):
            return json_document(data, name), []
        read = documents(data, name)
        # A text without documents counts as an empty one.
        return next(read, Document(None, 1, name, b"")), _about_the_rest(read)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InvalidConfiguration(name, [Fault(Stage.READING, f"open {name}: {reason}")]) from None
    except Unreadable as error:
        raise InvalidConfiguration(name, [Fault(Stage.READING, error.problem, line=error.line)]) from None


def _about_the_rest(read: Iterator[Document]) -> list[str]:
    try:
        more = next(read, None) is not None
    except Unreadable:
        more = True
    return ["only the first document of the file is used; the others are ignored"] if more else []


def _with_plugins(config: KubeSchedulerConfiguration, also: Collection[str]) -> KubeSchedulerConfiguration:
    profiles = (
        profile.model_copy(update={"plugins": merged(extended(profile.plugins, also))}) for profile in config.profiles
    )
    return config.model_copy(update={"profiles": tuple(profiles)})


def _only_running(config: KubeSchedulerConfiguration, catalogue: Catalogue) -> KubeSchedulerConfiguration:
    """Drop arguments of plugins that are not enabled, and sort the others."""
    profiles = []
    for profile in config.profiles:
        running = (enabled(profile) & set(catalogue.of(profile.scheduler_name).names())) | READERS.keys()
        entries = [entry for entry in profile.plugin_config if entry.name in running and entry.args is not None]
        kept = tuple(sorted(entries, key=lambda entry: entry.name))
        profiles.append(profile.model_copy(update={"plugin_config": kept}))
    return config.model_copy(update={"profiles": tuple(profiles)})


def _of_profiles(profiles: tuple[Profile, ...], expansions: list[Expansion], catalogue: Catalogue) -> list[Fault]:
    faults: list[Fault] = []
    for i, (profile, expansion) in enumerate(zip(profiles, expansions, strict=True)):
        known = catalogue.of(profile.scheduler_name)
        faults += [_fault(i, profile, complaint, known) for complaint in expansion.complaints]
        if not expansion.complaints and not expansions[0].complaints:
            faults += _different_queue(i, profile, expansion, profiles[0], expansions[0])
    return faults


def _fault(i: int, profile: Profile, complaint: Complaint, catalogue: Catalogue) -> Fault:
    at: At = ("profiles", i, "plugins", *([complaint.point.value] if complaint.point else []))
    unknown = complaint.plugin and complaint.plugin not in catalogue.names()
    hint = did_you_mean(complaint.plugin, catalogue.names()) if unknown else complaint.hint
    return Fault(Stage.PROFILES, profile_prefix(profile.scheduler_name) + complaint.text, at, hint)


def _different_queue(
    i: int, profile: Profile, expansion: Expansion, first: Profile, first_expansion: Expansion
) -> Iterator[Fault]:
    """All profiles share one queue, so the effective plugin and its arguments must be those of the first profile."""
    sorter, first_sorter = (each.points[ExtensionPoint.QUEUE_SORT][0] for each in (expansion, first_expansion))
    name, at = quoted(profile.scheduler_name), ("profiles", i)
    if sorter != first_sorter:
        text = f"different queue sort plugins for profile {name}: {quoted(sorter)}, first: {quoted(first_sorter)}"
        yield Fault(Stage.PROFILES, f"initializing profiles: {text}", at)
    elif _args_of(profile, sorter) != _args_of(first, sorter):
        yield Fault(Stage.PROFILES, f"initializing profiles: different queue sort plugin args for profile {name}", at)


def _args_of(profile: Profile, name: str) -> Any:
    return next((entry.args for entry in profile.plugin_config if entry.name == name), None)


def _refusal(document: Document, faults: list[Fault]) -> InvalidConfiguration:
    return InvalidConfiguration(document.source, [_placed(document, fault) for fault in faults])


def _placed(document: Document, fault: Fault) -> Fault:
    spot = document.spot(fault.at)
    return replace(fault, line=spot.line, hint=fault.hint or (fault.fix(spot.word) if fault.fix else ""))
