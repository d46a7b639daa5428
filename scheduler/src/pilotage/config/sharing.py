"""Settings without a field in kube-scheduler: how a profile shares the cluster, and its own nodes.

In a configuration these are entries of pluginConfig with names that no plugin can have. kube-scheduler and other
readers of the file treat them as arguments of unknown plugins, and ignore them.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from pydantic import Field, StrictBool, StrictStr

from pilotage.config.catalogue import Arguments, ReadArguments
from pilotage.config.defaults import SCHEDULER_NAME
from pilotage.config.documents import At
from pilotage.config.faults import Fault, invalid, unsupported
from pilotage.config.strict_reading import read_section
from pilotage.config.types import Int32, Item, PluginConfig, Section
from pilotage.model.selectors import (
    LABEL_OPERATORS,
    LabelMatcher,
    LabelSelector,
    LabelSelectorRequirement,
    compile_label_selector,
    requirement_complaints,
)

SHARING, NODES = "pilotage.dev/sharing", "pilotage.dev/nodes"
EVERYBODY = "*"  # victims of all schedulers
_LARGEST_SPREAD = 100


class Sharing(Section):
    """How to share the cluster with other schedulers."""

    guard: StrictBool = True  # against races
    spread: Int32 = 5  # percent of the best score: nodes within this are drawn at random while races occur
    victims: tuple[StrictStr, ...] | None = Field(default=None, exclude_if=lambda given: given is None)

    def faults(self, at: At) -> list[Fault]:
        """Return the errors in values of valid types."""
        found = []
        if not 0 <= self.spread <= _LARGEST_SPREAD:
            found.append(invalid((*at, "spread"), self.spread, f"not in valid range [0, {_LARGEST_SPREAD}]"))
        named = enumerate(self.victims or ())
        return found + [
            invalid((*at, "victims", place), name, f"must be the name of a scheduler, or {EVERYBODY} for all")
            for place, name in named
            if not name
        ]


class NodeRequirement(Section):
    """One condition on a label of a node."""

    key: StrictStr = ""
    operator: StrictStr = ""
    values: tuple[Item, ...] = Field(default=(), exclude_if=lambda given: not given)


class OwnNodeSelector(Section):
    """Conditions on the labels of a node, all of which must hold."""

    match_labels: dict[StrictStr, Item] = Field(default_factory=dict, exclude_if=lambda given: not given)
    match_expressions: tuple[NodeRequirement, ...] = Field(default=(), exclude_if=lambda given: not given)

    @property
    def conditions(self) -> LabelSelector:
        """Return the equivalent label selector."""
        expressions = tuple(LabelSelectorRequirement(e.key, e.operator, e.values) for e in self.match_expressions)
        return LabelSelector(self.match_labels, expressions)


class OwnNodes(Section):
    """The nodes of a profile; for it, no others exist."""

    selector: OwnNodeSelector = OwnNodeSelector()

    def faults(self, at: At) -> list[Fault]:
        """Return the errors in the selector, by condition."""
        of_labels, of_expressions = (*at, "selector", "matchLabels"), (*at, "selector", "matchExpressions")
        found = []
        for key, value in self.selector.match_labels.items():
            found += _wrong((*of_labels, key), LabelSelectorRequirement(key, "In", (value,)))
        for place, each in enumerate(self.selector.match_expressions):
            if each.operator in LABEL_OPERATORS:
                requirement = LabelSelectorRequirement(each.key, each.operator, each.values)
                found += _wrong((*of_expressions, place), requirement)
            else:
                found.append(unsupported((*of_expressions, place, "operator"), each.operator, LABEL_OPERATORS))
        return found

    def matcher(self) -> LabelMatcher | None:
        """Return the matcher of own nodes; None for all nodes. The selector must be valid."""
        matcher = compile_label_selector(self.selector.conditions)
        return None if matcher.empty else matcher


def _wrong(at: At, requirement: LabelSelectorRequirement) -> list[Fault]:
    shown = {"key": requirement.key, "operator": requirement.operator, "values": list(requirement.values)}
    return [
        invalid(at, shown, complaint.partition(": Invalid value: ")[2].partition(": ")[2])
        for complaint in requirement_complaints(requirement)
    ]


def _reads(section: type[Sharing] | type[OwnNodes]) -> ReadArguments:
    def read(given: Mapping[str, Any] | None, at: At) -> Arguments:
        found, faults = read_section(section, given or {}, at)
        if found is None:
            return Arguments(dict(given or {}), tuple(faults))
        return Arguments(found.model_dump(mode="json", by_alias=True), (*faults, *found.faults(at)))

    return read


READERS: Mapping[str, ReadArguments] = {SHARING: _reads(Sharing), NODES: _reads(OwnNodes)}


def with_victims(profile: Mapping[str, Any], served: Collection[str]) -> dict[str, Any]:
    """Return a profile that evicts the same pods alone as together with the other profiles of its configuration.

    Invalid settings are left to strict validation.
    """
    entries = [each for each in profile.get("pluginConfig") or () if isinstance(each, dict)]
    args = next((each.get("args") for each in entries if each.get("name") == SHARING), None) or {}
    if not isinstance(args, dict) or not isinstance(given := args.get("victims"), list | None):
        return dict(profile)
    everybody = given is None and SCHEDULER_NAME in served
    victims = [EVERYBODY] if everybody else sorted({*served, *(str(each) for each in given or ())})
    others = [each for each in entries if each.get("name") != SHARING]
    return {**profile, "pluginConfig": [*others, {"name": SHARING, "args": {**args, "victims": victims}}]}


def sharing_in(entries: Iterable[PluginConfig]) -> Sharing:
    """Return how a profile with this pluginConfig shares the cluster."""
    given = next((entry.args for entry in entries if entry.name == SHARING), None)
    return Sharing.model_validate(given or {}, by_alias=True, by_name=False)


def own_nodes_in(entries: Iterable[PluginConfig]) -> OwnNodes:
    """Return the own nodes of a profile with this pluginConfig; by default all nodes."""
    given = next((entry.args for entry in entries if entry.name == NODES), None)
    return OwnNodes.model_validate(given or {}, by_alias=True, by_name=False)
