"""Profiles, their plugins, and what those cost."""

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


class ProfileReplica(Part, frozen=True):
    """What a replica of the scheduler has reported about the configuration, as its pod says."""

    name: str
    hash: str = ""  # of the configuration that it runs; "" before it has reported one
    is_current: bool = False  # it is what the operator wants
    trouble: str = ""  # what is wrong with the wanted configuration, or with this profile


class ProfileView(Part, frozen=True):
    """A profile as this replica runs it."""

    name: str
    ready: bool = True
    reason: str = ""
    hash: str = ""  # of the configuration that this replica runs
    generation: int = 0  # of the SchedulerProfile
    acknowledged: int = 0  # the last generation that all replicas ran
    plugins: list[PluginOfProfile] = []
    conditions: list[dict[str, Any]] = []
    replicas: list[ProfileReplica] = []


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
