"""Profiles and plugins."""

from typing import Any

from msgspec import field

from pilotage.views.answers.parts import Common, Part


class PluginOfProfile(Part, frozen=True):
    """A plugin of a profile."""

    name: str
    points: list[str] = []
    weight: int = 0
    args: dict[str, Any] = {}
    origin: str = ""  # built-in, or the file that has it


class ProfileReplica(Part, frozen=True):
    """What a replica has reported about the configuration, in annotations of its pod."""

    name: str
    hash: str = ""  # of the configuration that it runs; "" before it has reported one
    is_current: bool = False  # it is the one that the operator wants
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
    """One difference."""

    path: str  # such as plugins.NodeResourcesFit.weight
    from_: Any = field(name="from", default=None)
    to: Any = None


class ProfileDiff(Common, frozen=True, tag="ProfileDiff"):
    """The differences between two specs of a profile."""

    name: str
    from_hash: str = ""
    to_hash: str = ""
    differences: list[Difference] = []


class PluginCost(Part, frozen=True):
    """The cost of a plugin at one extension point."""

    profile: str
    plugin: str
    point: str
    calls: int = 0
    seconds: float = 0.0
    p50: float = 0.0
    p99: float = 0.0
    failures: int = 0
    trips: int = 0  # calls that were aborted because they took too long


class Plugins(Common, frozen=True, tag="Plugins"):
    """The cost and the failures of plugins."""

    items: list[PluginCost] = []
