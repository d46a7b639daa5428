"""Converts a configuration to SchedulerProfiles, one for each profile."""

import re
from typing import Any

from pilotage.config.arguments import enabled
from pilotage.config.catalogue import Catalogue
from pilotage.config.defaults import SCHEDULER_NAME
from pilotage.config.expansion import merged
from pilotage.config.types import KubeSchedulerConfiguration, Profile
from pilotage.conversion.effective_plugins import complaints_about, unknown_plugins
from pilotage.conversion.general_fields import note_release_fields
from pilotage.conversion.notes import Notes
from pilotage.conversion.profile_specs import compared, spec_of
from pilotage.model.label_syntax import SUBDOMAIN
from pilotage.scheduler_profiles.resource import API_VERSION, KIND, LONGEST_SIMPLE_NAME

_RACE = (
    "kube-scheduler serves this name too, and both would race for every pod: unless you stop kube-scheduler, change "
    "metadata.name and the schedulerName of the pods"
)
_ORDER = (
    "Coscheduling sorts the queue, which all profiles of a release share: it works with any order, so {}, unless "
    "the other profiles sort with Coscheduling too"
)
_ORDER_IS_TOLD = "the same nodes fit, but a message may name another plugin first"
_ORDER_MATTERS = {
    "postFilter": "the first that preempts decides: disable those that should not",
    "bind": "the first that binds decides: disable those that should not",
}
_STRANGER = (
    "there is no plugin of this name: a plugin is one Python file (docs/plugins.md), added with --plugin-dir; "
    "until then the profile is not accepted"
)
_SHARED = "extenders see the pods of all profiles of a release, those of other files included"


def scheduler_profiles(config: KubeSchedulerConfiguration, catalogue: Catalogue, notes: Notes) -> list[dict[str, Any]]:
    """Return the manifests for a configuration of v1; notes list fields that they cannot express."""
    note_release_fields(config, notes)
    if config.extenders:
        notes.note(_SHARED)
    made = [_manifest(profile, config, catalogue, notes) for profile in config.profiles]
    return [manifest for manifest in made if manifest is not None]


def _manifest(
    profile: Profile, config: KubeSchedulerConfiguration, catalogue: Catalogue, notes: Notes
) -> dict[str, Any] | None:
    name = profile.scheduler_name
    if wrong := complaints_about(profile, catalogue):
        for text in wrong:
            notes.error(f"{text}; no scheduler can run this, so there is nothing to convert", name)
        return None
    for plugin in unknown_plugins(profile, catalogue):
        notes.note(f"{plugin}: {_STRANGER}", name)
    _tell_idle_arguments(profile, notes)
    spec = _named(name) | spec_of(profile, catalogue)
    _compare(profile, spec, catalogue, notes)
    if config.percentage_of_nodes_to_score:
        spec.setdefault("percentageOfNodesToScore", config.percentage_of_nodes_to_score)
    if config.extenders:
        spec["extenders"] = [
            extender.model_dump(mode="json", by_alias=True, exclude_defaults=True) for extender in config.extenders
        ]
    _advise(name, spec, notes)
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": _object_name(name)}, "spec": spec}


def _compare(profile: Profile, spec: dict[str, Any], catalogue: Catalogue, notes: Notes) -> None:
    """Compare the effect of the spec with that of the profile."""
    name, found = profile.scheduler_name, compared(profile, spec, catalogue)
    if not found.is_same:
        notes.error("it does not run the same plugins at the same points, which is a bug: please report it", name)
    for point, before, now in found.reordered:
        if point in _ORDER_MATTERS:
            text = f"at {point} the order is {', '.join(now)}, and was {', '.join(before)}"
            notes.note(f"{text}; {_ORDER_MATTERS[point]}", name)
        else:
            notes.note(f"at {point} some plugins run in another order: {_ORDER_IS_TOLD}", name)


def _tell_idle_arguments(profile: Profile, notes: Notes) -> None:
    running = enabled(profile.model_copy(update={"plugins": merged(profile.plugins)}))
    for entry in profile.plugin_config:
        if entry.name not in running:
            notes.note(
                f"pluginConfig: {entry.name} is not enabled, so its arguments are left out", profile.scheduler_name
            )


def _advise(name: str, spec: dict[str, Any], notes: Notes) -> None:
    if name == SCHEDULER_NAME:
        notes.note(_RACE, name)
    entries = {entry["name"]: entry for entry in spec.get("plugins", ())}
    points = entries.get("Coscheduling", {}).get("points")
    sorts = points is None or "queueSort" in points
    if "Coscheduling" in entries and sorts and not entries.get("PrioritySort", {}).get("enabled", True):
        first = "take queueSort out of its points and " if points else ""
        notes.note(_ORDER.format(f"{first}remove the entry of PrioritySort"), name)


def _named(scheduler_name: str) -> dict[str, Any]:
    return {} if _object_name(scheduler_name) == scheduler_name else {"schedulerName": scheduler_name}


def _object_name(scheduler_name: str) -> str:
    """Return the name of the resource: the scheduler's name, adjusted to a valid one if necessary."""
    if re.fullmatch(SUBDOMAIN, scheduler_name[:1024]) and len(scheduler_name) <= LONGEST_SIMPLE_NAME:
        return scheduler_name
    words = re.sub("[^a-z0-9]+", "-", scheduler_name.lower())[:LONGEST_SIMPLE_NAME].strip("-")
    return words or "profile"
