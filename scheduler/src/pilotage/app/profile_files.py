"""SchedulerProfiles as the configuration of a command, validated and rendered as in the operator."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pilotage.config.documents import Unreadable, read_file
from pilotage.config.types import KIND as CONFIGURATION
from pilotage.offline.manifest_entries import Found, WrittenProfile, objects_in, take
from pilotage.offline.manifest_files import parse
from pilotage.plugins.catalogue import PluginCatalogue
from pilotage.scheduler_profiles.checking import Checked, checked
from pilotage.scheduler_profiles.judge import Judge
from pilotage.scheduler_profiles.render import configuration, joined_extenders
from pilotage.scheduler_profiles.resource import KIND


class UnusableProfiles(Exception):
    """SchedulerProfiles that cannot run; the text lists all problems."""


@dataclass(frozen=True)
class Source:
    """The configuration given to a command: SchedulerProfiles, or a configuration that is yet to be loaded."""

    text: Path | str
    name: str = ""
    profiles: list[WrittenProfile] = field(default_factory=list)


def read_source(source: Path | str) -> Source:
    """Read a file, once because it may be a pipe, or take a text."""
    if isinstance(source, str):
        return Source(source, profiles=_profiles_in(source, "<configuration>"))
    try:
        text = read_file(source).decode()
    except (OSError, Unreadable, UnicodeDecodeError):
        return Source(source)  # loading it reports the problem
    return Source(text, str(source), _profiles_in(text, str(source)))


def _profiles_in(text: str, name: str) -> list[WrittenProfile]:
    if KIND not in text:  # avoids parsing other configurations twice
        return []
    found = Found()
    try:
        documents = list(parse(text.encode(errors="surrogatepass"), name))
        take(documents, found)
    except Unreadable:
        return []
    kinds = [value.get("kind") for each in documents for value, _ in objects_in(each) if isinstance(value, dict)]
    if found.profiles and CONFIGURATION in kinds:
        raise UnusableProfiles(f"{name}: it contains both a {KIND} and a {CONFIGURATION}; remove one of the two")
    return found.profiles


def configuration_of(profiles: Sequence[WrittenProfile], catalogue: PluginCatalogue) -> str:
    """Return the configuration that the operator renders from these profiles; UnusableProfiles if they cannot run.

    A file given to a command may name any service and any credentials: it is trusted.
    """
    found = checked([profile.manifest for profile in profiles], Judge(catalogue, rules=None))
    wrong = [told for profile, each in zip(profiles, found, strict=True) for told in _complaints(profile, each)]
    if wrong:
        raise UnusableProfiles("\n".join(wrong))
    verdicts = [each.verdict for each in found]
    return configuration((each.profile for each in verdicts), joined_extenders(each.extenders for each in verdicts), "")


def _complaints(profile: WrittenProfile, found: Checked) -> list[str]:
    return [f"{profile.place} ({KIND} {found.name}): {complaint.message}" for complaint in found.complaints]
