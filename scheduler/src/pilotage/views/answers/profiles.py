"""Profiles, their plugins, and what those cost."""

from datetime import datetime
from typing import Any

from msgspec import field

from pilotage.views.answers.parts import Common, Part


class PluginOfProfile(Part, frozen=True):
    """A plugin as a profile runs it."""

    name: str
    points: list[str] = []
    weight: int = 0
    args: dict[str, Any] = {}
    origin: str = ""  # built-in, or the file that has it


class HistoryEntry(Part, frozen=True):
    """A configuration that was put in service, or was not."""

    at: datetime
    hash: str
    result: str
    because: str = ""
    replica: str = ""


class ProfileView(Part, frozen=True):
    """A profile as this replica runs it."""

    name: str
    ready: bool = True
    reason: str = ""
    hash: str = ""
    plugins: list[PluginOfProfile] = []
    conditions: list[dict[str, Any]] = []
    replicas: dict[str, str] = {}  # the hash that each one runs
    history: list[HistoryEntry] = []
    trial: dict[str, Any] = {}
    variant: dict[str, Any] = {}


class Profiles(Common, frozen=True, tag="Profiles"):
    """All profiles in service."""

    items: list[ProfileView] = []


class Profile(Common, frozen=True, tag="Profile"):
    """One profile."""

    profile: ProfileView


class Difference(Part, frozen=True):
    """One thing that is not the same."""

    path: str  # such as plugins.NodeResourcesFit.weight
    from_: Any = field(name="from", default=None)
    to: Any = None


class ProfileDiff(Common, frozen=True, tag="ProfileDiff"):
    """What two configurations of a profile do differently."""

    name: str
    from_hash: str = ""
    to_hash: str = ""
    differences: list[Difference] = []


class PluginCost(Part, frozen=True):
    """What a plugin costs at one extension point."""

    profile: str
    plugin: str
    point: str
    calls: int = 0
    seconds: float = 0.0
    p50: float = 0.0
    p99: float = 0.0
    failures: int = 0
    trips: int = 0  # calls that took too long


class Plugins(Common, frozen=True, tag="Plugins"):
    """What plugins cost, and which fail."""

    items: list[PluginCost] = []
