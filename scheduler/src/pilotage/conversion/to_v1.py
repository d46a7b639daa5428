"""Converts any version of KubeSchedulerConfiguration to v1: the same policy with current fields."""

from dataclasses import dataclass

from pilotage.config.catalogue import Catalogue, ExtensionPoint
from pilotage.config.defaults import SCHEDULER_NAME
from pilotage.config.types import KubeSchedulerConfiguration, Plugin, Plugins, PluginSet, Profile
from pilotage.conversion import plugin_arguments
from pilotage.conversion.effective_plugins import expanded, parted
from pilotage.conversion.general_fields import in_v1
from pilotage.conversion.known_points import with_reserve, without_missing_points
from pilotage.conversion.notes import Notes
from pilotage.conversion.older_types import OlderConfiguration, OlderPlugins, OlderProfile, Version
from pilotage.conversion.plugin_sets import as_multi_point
from pilotage.conversion.replaced_plugins import NODE_LABEL, with_names_of_today

_PREEMPTION, _AVOIDING = "DefaultPreemption", "NodePreferAvoidPods"
_AVOIDED = (
    "v1beta1 kept pods of controllers off nodes with the annotation scheduler.alpha.kubernetes.io/preferAvoidPods "
    "(NodePreferAvoidPods), and no plugin does that now: taint such nodes with effect PreferNoSchedule"
)

_NO_LABELS = (
    "NodeLabel: NodeAffinity, which replaces it, does not filter in this profile, so nothing keeps pods on these "
    "nodes: enable it at filter"
)
# Since v1beta3, users' preferences have higher weights.
_HEAVIER = ("TaintToleration", "NodeAffinity", "InterPodAffinity")
_LIGHTER = "the weights of {} are those of {}; since v1beta3 they are 3, 2 and 2: remove the entries to use those"


def to_v1(
    given: OlderConfiguration, version: Version, catalogue: Catalogue, notes: Notes
) -> KubeSchedulerConfiguration:
    """Return the equivalent v1 configuration; notes list fields without an equivalent."""
    upgrade = Upgrade(version, catalogue, notes)
    profiles = given.profiles or (OlderProfile(),)
    if given.disable_preemption:
        profiles = tuple(_without_preemption(profile) for profile in profiles)
    named = (_named(profile, alone=len(profiles) == 1) for profile in profiles)
    return in_v1(given, notes).model_copy(update={"profiles": tuple(upgrade.profile(each) for each in named)})


def _without_preemption(profile: OlderProfile) -> OlderProfile:
    plugins = profile.plugins.post_filter
    disabled = plugins.model_copy(update={"disabled": (*plugins.disabled, Plugin(name=_PREEMPTION))})
    return profile.model_copy(update={"plugins": profile.plugins.model_copy(update={"post_filter": disabled})})


def _named(profile: OlderProfile, *, alone: bool) -> OlderProfile:
    if alone and "scheduler_name" not in profile.model_fields_set:
        return profile.model_copy(update={"scheduler_name": SCHEDULER_NAME})
    return profile


@dataclass
class Upgrade:
    """Converts profiles of one version to v1."""

    version: Version
    catalogue: Catalogue
    notes: Notes

    def profile(self, given: OlderProfile) -> Profile:
        """Return a profile of v1."""
        name = given.scheduler_name
        plugins = self._points_of_today(given.plugins, name)  # 1. current points
        replaced = with_names_of_today(plugins, self.version)  # 2. current plugins
        for plugin, text in replaced.told.items():
            self.notes.note(f"{plugin}: {text}", name)
        if self.version == Version.V1BETA1 and _avoids(plugins.score):
            self.notes.note(_AVOIDED, name)
        sets = self._sets(replaced.plugins(), name)  # 3. the sets
        self._tell_weights(sets, replaced.plugins(), name)
        arguments = plugin_arguments.converted(  # 4. the arguments
            given.plugin_config, self.version, replaced, self.catalogue, self.notes, name
        )
        more = {"plugins": sets, "plugin_config": arguments}
        kept = {field: getattr(given, field) for field in given.model_fields_set if field in _PLAIN}
        found = Profile(**{"scheduler_name": name, **kept, **more})
        if NODE_LABEL in replaced.told and not self._filters(found, "NodeAffinity"):
            self.notes.error(_NO_LABELS, name)
        return found

    def _filters(self, profile: Profile, plugin: str) -> bool:
        known, _ = parted(profile.plugins, self.catalogue)
        return plugin in expanded(profile, known, self.catalogue).points[ExtensionPoint.FILTER]

    def _tell_weights(self, sets: Plugins, given: Plugins, name: str) -> None:
        own = {plugin.name for plugin in given.score.enabled}
        lighter = [each.name for each in sets.multi_point.enabled if each.name in _HEAVIER and each.name not in own]
        if lighter and not self.version.has_multi_point:
            self.notes.note(_LIGHTER.format(", ".join(lighter), self.version), name)

    def _points_of_today(self, given: OlderPlugins, name: str) -> Plugins:
        plugins, unreserving = with_reserve(given)
        if unreserving:
            self.notes.note(f"plugins.unreserve is part of reserve now: {', '.join(unreserving)}", name)
        plugins, missing = without_missing_points(plugins, self.catalogue)
        for plugin, points in missing.items():
            self.notes.note(f"{plugin}: it needs no {' and no '.join(points)} here", name)
        return plugins

    def _sets(self, given: Plugins, name: str) -> Plugins:
        if self.version.has_multi_point:
            return given
        found = as_multi_point(given, self.version, self.catalogue)
        own = given.multi_point
        if own == PluginSet():
            return found
        self.notes.note(f"plugins.multiPoint exists only since v1beta3; in {self.version} it is read as in v1", name)
        both = PluginSet(
            enabled=(*found.multi_point.enabled, *own.enabled), disabled=(*found.multi_point.disabled, *own.disabled)
        )
        return found.model_copy(update={"multi_point": both})


_PLAIN = ("percentage_of_nodes_to_score",)


def _avoids(score: PluginSet) -> bool:
    return not {"*", _AVOIDING} & score.disabled_names
