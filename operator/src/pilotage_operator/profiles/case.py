"""One profile in a round; each step adds its results."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pilotage.config.handshake import PluginFile
from pilotage.scheduler_profiles.choosing import Candidate
from pilotage.scheduler_profiles.judge import Complaint, Verdict
from pilotage.scheduler_profiles.resource import GoodSpec
from pilotage_operator.profiles.past import Past, ServedSpec
from pilotage_operator.profiles.units import Unit
from pilotage_operator.profiles.world import StoredProfile


@dataclass
class Case:
    """One of our profiles in a round."""

    stored: StoredProfile
    past: Past
    hash: str
    verdict: Verdict
    ran: ServedSpec | None  # its spec in the current configuration
    files: tuple[PluginFile, ...] = ()  # the plugin files of the spec
    units: Mapping[str, Unit] = field(default_factory=dict)  # kept specs with plugin files
    complaints: list[Complaint] = field(default_factory=list)
    taken: Mapping[str, Complaint] = field(default_factory=dict)  # names that other releases serve
    chosen: Candidate | None = None
    acknowledged: GoodSpec | None = None  # the last spec that all replicas ran

    @property
    def name(self) -> str:
        """Return the profile's name."""
        return self.stored.name

    @property
    def is_new(self) -> bool:
        """Return whether the served spec is new."""
        return self.chosen is not None and (self.ran is None or self.ran.hash != self.chosen.hash)
