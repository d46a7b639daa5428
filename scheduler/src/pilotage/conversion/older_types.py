"""KubeSchedulerConfiguration v1beta1 to v1beta3: the fields of v1, and removed ones."""

from enum import IntEnum
from typing import Any

from pydantic import Field, StrictBool, StrictStr

from pilotage.config.types import API_VERSION, KubeSchedulerConfiguration, Plugins, PluginSet, Profile

GROUP = API_VERSION.partition("/")[0]


class Version(IntEnum):
    """The versions that can be converted, oldest first."""

    V1BETA1 = 1
    V1BETA2 = 2
    V1BETA3 = 3
    V1 = 4

    def __str__(self) -> str:
        return self.name.lower()

    @property
    def has_multi_point(self) -> bool:
        """Return whether the version has multiPoint; older ones only have a list for each point."""
        return self >= Version.V1BETA3


def version_of(api_version: Any) -> Version | None:
    """Return the version of this name; None for one that cannot be converted."""
    group, _, name = str(api_version).partition("/")
    return next((each for each in Version if group == GROUP and str(each) == name), None)


class OlderPlugins(Plugins):
    """The plugin sets of a profile."""

    unreserve: PluginSet = PluginSet()


class OlderProfile(Profile):
    """A scheduler by name."""

    plugins: OlderPlugins = OlderPlugins()


class OlderConfiguration(KubeSchedulerConfiguration):
    """The whole file."""

    profiles: tuple[OlderProfile, ...] = ()
    healthz_bind_address: StrictStr = ""
    metrics_bind_address: StrictStr = ""
    disable_preemption: StrictBool = False
    feature_gates: dict[str, StrictBool] = Field(default_factory=dict)
