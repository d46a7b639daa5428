"""Priority: the value of a label as the priority of a node."""

import logging
import re
from collections.abc import Iterator

import numpy as np
from pydantic import Field, StrictStr

from pilotage.config.documents import At
from pilotage.config.faults import Fault, invalid
from pilotage.framework.api.caching import SHAPE, STATIC, Caching
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.distinct import answer_for_each
from pilotage.framework.api.events import Action, Event, Resource, Retry
from pilotage.framework.api.node_changes import node_remedy, with_facts
from pilotage.framework.api.nodes import ABSENT, Ints, NodeInfo, Nodes
from pilotage.framework.api.plugin import Filter, Score
from pilotage.framework.api.remedies import Change, Remedy
from pilotage.framework.api.scoring import MAX_SCORE, by_maximum
from pilotage.framework.api.verdicts import Filtered, Rejection, Verdicts
from pilotage.model.label_syntax import key_complaints
from pilotage.model.node import Node
from pilotage.model.pod import Pod
from pilotage.model.quantity import LARGEST

log = logging.getLogger(__name__)

# Like Go's integers: no spaces, no underscores, no digits of other scripts.
WHOLE = re.compile("[+]?0*([0-9]{1,17})")
OFFERED = "10"  # the value that a remedy suggests
HIGHEST = LARGEST // MAX_SCORE  # normalising multiplies by this
INVALID = -1
MOST_WARNINGS = 20_000  # remembered, since nodes may have unique names


class Priority(Filter, Score):
    """Keep pods on nodes that have a priority label, and prefer the highest value of it."""

    label_key: StrictStr = Field(default="priority.lixueduan.com", description="The label with the priority of a node.")

    caching = Caching(STATIC, per=SHAPE)
    retry_on = (Retry(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL, "got_the_label"),)
    normalize = by_maximum

    def __post_init__(self) -> None:
        """Start with empty state."""
        super().__post_init__()
        self._warned: dict[str, str] = {}  # the invalid value of each node, already logged

    def faults(self, at: At) -> list[Fault]:
        """Return why the key is not a valid label key."""
        return [invalid((*at, "labelKey"), self.label_key, why) for why in key_complaints(self.label_key)]

    def filter(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> Filtered:
        """Reject a node without the label; every value is accepted."""
        return None if self.label_key in node.labels else self._unlabelled(node)

    def filter_nodes(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Verdicts:
        """Reject all such nodes, each with its own reason."""
        places = np.flatnonzero(nodes.label_ids(self.label_key) == ABSENT)
        codes = np.zeros(len(nodes), np.uint16)
        codes[places] = np.arange(1, len(places) + 1)
        return Verdicts(codes, [self._unlabelled(nodes[place]) for place in places.tolist()])

    def remedies(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Iterator[Remedy]:
        """Offer to label a node."""
        node = nodes[0].node
        changed = with_facts(node, labels={**node.labels, self.label_key: OFFERED})
        words = f"label {{node}}{'' if len(nodes) == 1 else ' (or another of {count})'} with {{labels}}"
        patch = {"metadata": {"labels": {self.label_key: OFFERED}}}
        change = Change(f"metadata.labels[{self.label_key}]", None, OFFERED)
        told = f"{self.label_key}={OFFERED}"
        yield node_remedy("labelNode", words, node, changed, patch, change, labels=told, count=len(nodes))

    def score(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> int:
        """Return the value of the label; 0 without one, if the profile does not enable the filter."""
        value = node.labels.get(self.label_key)
        if value is None:
            return 0
        priority = priority_of(value)
        return self._warn(node) if priority == INVALID else priority

    def score_nodes(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Ints:
        """Return the same for many nodes."""
        ids = nodes.label_ids(self.label_key)
        scores = answer_for_each(ids, nodes.label_values(self.label_key), priority_of, np.int64)
        scores[ids == ABSENT] = 0
        for place in np.flatnonzero(scores == INVALID).tolist():
            scores[place] = self._warn(nodes[place])
        return scores

    def got_the_label(self, pod: Pod, event: Event, old: Node | None, new: Node) -> bool:
        """Return whether the node has gained the label."""
        return self.label_key in new.labels and (old is None or self.label_key not in old.labels)

    def _unlabelled(self, node: NodeInfo) -> Rejection:
        # Evictions cannot add a label, but the original plugin does not say so, which affects the end of the message.
        return Rejection(f"Node:Node: {node.name} does not have label {self.label_key}")

    def _warn(self, node: NodeInfo) -> int:
        """Warn once about the invalid value of a node; returns the value to use."""
        value = node.labels[self.label_key]
        if self._warned.get(node.name) != value:
            if len(self._warned) >= MOST_WARNINGS:
                self._warned.clear()
            self._warned[node.name] = value
            text = "node %s: label %s=%.80r is not a whole number from 0 to %d, it counts as 0"
            log.warning(text, node.name, self.label_key, value, HIGHEST)
        return 0


def priority_of(value: str) -> int:
    """Return a label's value as a number, or INVALID."""
    match = WHOLE.fullmatch(value)
    number = int(match[1]) if match else INVALID
    return number if number <= HIGHEST else INVALID
