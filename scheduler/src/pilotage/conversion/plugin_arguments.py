"""Converts the arguments of plugins to those of Pilotage's plugins."""

from collections.abc import Iterator, Mapping
from typing import Any

from pilotage.config.catalogue import Catalogue
from pilotage.config.faults import Stage
from pilotage.config.kinds import without_kind
from pilotage.config.types import PluginConfig
from pilotage.config.validation import REMOVED_PLUGINS
from pilotage.conversion.node_labels import added_affinity
from pilotage.conversion.notes import Notes
from pilotage.conversion.older_types import Version
from pilotage.conversion.replaced_plugins import FIT, NODE_LABEL, STRATEGIES, Replaced

_OWN_CONNECTION = "the scheduler's own connection to the cluster is used"
# By plugin ("" for any) and argument: why Pilotage does not have it.
_GONE = {
    ("", "kubeConfigPath"): _OWN_CONNECTION,
    ("", "kubeconfigpath"): _OWN_CONNECTION,
    ("", "kubeConfig"): _OWN_CONNECTION,
    ("", "kubeMaster"): _OWN_CONNECTION,
    ("", "masteroverride"): _OWN_CONNECTION,
    ("NodeResourceTopologyMatch", "namespaces"): "NodeResourceTopology is cluster-scoped now",
    ("Coscheduling", "deniedPGExpirationTimeSeconds"): "podGroupBackoffSeconds sets how long a gang that did not fit "
    "waits before it is retried",
}
_RENAMED = {
    ("SySched", "sySchedCRDNamespace"): "defaultProfileNamespace",
    ("SySched", "sySchedFullCRDName"): "defaultProfileName",
}
_SPREAD = "PodTopologySpread"
_PROMETHEUS = "Prometheus"
_RATIO = "RequestedToCapacityRatio"


def converted(
    entries: tuple[PluginConfig, ...],
    version: Version,
    replaced: Replaced,
    catalogue: Catalogue,
    notes: Notes,
    profile: str,
) -> tuple[PluginConfig, ...]:
    """Return the entries of pluginConfig for the current plugins."""
    work = _Work(version, catalogue, notes, profile)
    found = {}
    for entry in entries:
        if entry.name in found:
            notes.error(f"pluginConfig: {entry.name} is listed twice; keep one of the two", profile)
        found[entry.name] = entry.args
    work.merge_removed(found, replaced)
    return tuple(PluginConfig(name=name, args=work.arguments(name, args)) for name, args in found.items())


class _Work:
    def __init__(self, version: Version, catalogue: Catalogue, notes: Notes, profile: str) -> None:
        self._version, self._catalogue, self._notes, self._profile = version, catalogue, notes, profile

    def merge_removed(self, found: dict[str, Any], replaced: Replaced) -> None:
        """Move the arguments of removed plugins to their replacements, or note that there is none."""
        for name in replaced.strategies:
            self._merge(found, FIT, _strategy(name, found.get(name)))
        keeps_labels = NODE_LABEL in replaced.told
        if NODE_LABEL in found and keeps_labels:
            affinity, left = added_affinity(found[NODE_LABEL])
            self._merge(found, "NodeAffinity", {"addedAffinity": affinity} if affinity else {})
            for argument in left:
                self._tell(f"{NODE_LABEL}: {argument} has no equivalent; give the pods a preferred nodeAffinity")
        for name in [each for each in found if each in (*STRATEGIES, *REMOVED_PLUGINS, *_GONE_PLUGINS)]:
            if name not in replaced.strategies and not (name == NODE_LABEL and keeps_labels):
                self._tell(f"pluginConfig: the arguments of {name} are dropped too")
            del found[name]

    def _merge(self, found: dict[str, Any], name: str, more: dict[str, Any]) -> None:
        given = found.get(name)
        if given is not None and not isinstance(given, Mapping):
            return  # its reader reports the error
        for key in more.keys() & (given or {}).keys():
            self._notes.error(f"pluginConfig: {name} has a {key} of its own; merge the two", self._profile)
        if more:
            found[name] = {**more, **(given or {})}

    def arguments(self, name: str, args: Any) -> Any:
        """Return the arguments of one plugin, without those that Pilotage does not have."""
        if not isinstance(args, Mapping):
            return args
        given = self._known(name, self._renamed(name, without_kind(args)))
        if name == _SPREAD and self._version == Version.V1BETA1 and given.get("defaultConstraints"):
            given.setdefault("defaultingType", "List")  # the former default, which must now be explicit
        self._about_trust(name, given)
        return given

    def _renamed(self, name: str, given: dict[str, Any]) -> dict[str, Any]:
        for (plugin, argument), now in _RENAMED.items():
            if plugin == name and argument in given:
                given[now] = given.pop(argument)
                self._tell(f"{name}: {argument} is {now} now")
        return given

    def _known(self, name: str, given: dict[str, Any]) -> dict[str, Any]:
        read = self._catalogue.arguments(name)
        if name not in self._catalogue.names():
            return given
        unknown = set(given) if read is None else {str(key) for key in _unknown(read(given, ()).faults)}
        for argument in [each for each in given if each in unknown]:
            reason = _GONE.get(("", argument)) or _GONE.get((name, argument))
            self._tell(f"{name}: {argument} is left out: {reason or 'there is no such argument here'}")
        return {key: value for key, value in given.items() if key not in unknown}

    def _about_trust(self, name: str, given: Mapping[str, Any]) -> None:
        provider = given.get("metricProvider")
        if not isinstance(provider, Mapping) or provider.get("type") != _PROMETHEUS:
            return
        is_secure = str(provider.get("address", "")).startswith("https://")
        if is_secure and "insecureSkipVerify" not in provider:
            text = "scheduler-plugins accepted any certificate of Prometheus, and here it is verified"
            self._tell(f"{name}: {text}: give metricProvider a caFile, or insecureSkipVerify: true")

    def _tell(self, text: str) -> None:
        self._notes.note(text, self._profile)


_GONE_PLUGINS = ("SelectorSpread", "NodePreferAvoidPods", "ServiceAffinity", NODE_LABEL)


def _unknown(faults: Any) -> Iterator[Any]:
    """Yield the unknown fields of a plugin; validation reports unknown fields inside of known ones."""
    for fault in faults:
        if fault.stage == Stage.STRICTNESS and len(fault.at) == 1:
            yield fault.at[0]


def _strategy(name: str, args: Any) -> dict[str, Any]:
    """Convert the arguments of a scoring plugin of v1beta1 to a strategy of NodeResourcesFit."""
    given = args if isinstance(args, Mapping) else {}
    strategy: dict[str, Any] = {"type": STRATEGIES[name]}
    resources = given.get("resources")
    if isinstance(resources, list):
        # In v1beta1 a resource without a weight did not count, except in the ratio; now its weight is 1.
        strategy["resources"] = [each for each in resources if name == _RATIO or _weighs(each)]
    if "shape" in given:
        strategy["requestedToCapacityRatio"] = {"shape": given["shape"]}
    is_default = strategy == {"type": "LeastAllocated"}
    return {} if is_default else {"scoringStrategy": strategy}


def _weighs(resource: Any) -> bool:
    return not isinstance(resource, Mapping) or resource.get("weight") != 0
