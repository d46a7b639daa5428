"""Arguments of plugins as YAML, and configuration files around them."""

import json

from kit.configuration import HEAD, catalogue
from pilotage.config.defaults import DEFAULT_PLUGINS

WITH_ARGUMENTS = [plugin.name for plugin in DEFAULT_PLUGINS if catalogue().arguments(plugin.name)]
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
CONSTRAINT = "maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule"
# Go writes these in one way where it quotes, and in another where it makes JSON.
ODD = r'"<é\"\\\x7f\a\u2028\U000E0001"'


def required(term: str) -> str:
    """Return the arguments of NodeAffinity with an empty term and these."""
    return f"{{addedAffinity: {{{REQUIRED}: {{nodeSelectorTerms: [{{}}, {term}]}}}}}}"


def expression(text: str) -> str:
    """Return the arguments of NodeAffinity with one condition on labels."""
    return required(f"{{matchExpressions: [{{{text}}}]}}")


def node_field(text: str) -> str:
    """Return the arguments of NodeAffinity with one condition on fields."""
    return required(f"{{matchFields: [{{{text}}}]}}")


def preferred(terms: str) -> str:
    """Return the arguments of NodeAffinity with preferences."""
    return f"{{addedAffinity: {{{PREFERRED}: [{terms}]}}}}"


def strategy(text: str) -> str:
    """Return the arguments of NodeResourcesFit with a strategy."""
    return f"{{scoringStrategy: {{{text}}}}}"


def ratio(text: str) -> str:
    """Return the arguments of NodeResourcesFit with a function by points."""
    return strategy(f"type: RequestedToCapacityRatio, requestedToCapacityRatio: {text}")


def constraints(text: str, defaulting: str = "List") -> str:
    """Return the arguments of PodTopologySpread."""
    return f"{{defaultingType: {defaulting}, defaultConstraints: [{text}]}}"


def profile(name: str, plugin: str, args: str) -> str:
    """Return a profile with the arguments of one plugin."""
    return f"{{schedulerName: {json.dumps(name)}, pluginConfig: [{{name: {plugin}, args: {args}}}]}}"


def configuration(plugin: str, cases: dict[str, str]) -> str:
    """Return a file with a profile for each case, whose name is that of the case."""
    return f"{HEAD}profiles:\n" + "".join(f"- {profile(name, plugin, args)}\n" for name, args in cases.items())


def alone(plugin: str, args: str) -> str:
    """Return a file with the arguments of one plugin."""
    return f"{HEAD}profiles: [{{pluginConfig: [{{name: {plugin}, args: {args}}}]}}]\n"
