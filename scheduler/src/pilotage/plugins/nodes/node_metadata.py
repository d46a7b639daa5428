"""NodeMetadata: prefer nodes by a number or a time in a label or an annotation."""

import logging
from collections.abc import Callable, Iterator
from functools import cached_property
from math import isnan, nan
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, Field, StrictStr

from pilotage.config.documents import At
from pilotage.config.faults import Fault, Stage
from pilotage.framework.api.caching import SHAPE, STATIC, Caching
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.node_facts import LastLook
from pilotage.framework.api.nodes import Ints, NodeInfo, Nodes
from pilotage.framework.api.plugin import Score
from pilotage.framework.api.scoring import MAX_SCORE
from pilotage.model.go_float import finite_number
from pilotage.model.go_text import quoted
from pilotage.model.go_time import RFC3339, GoLayout, InvalidLayout
from pilotage.model.label_syntax import key_complaints
from pilotage.model.pod import Pod
from pilotage.model.quantity import SMALLEST

log = logging.getLogger(__name__)

Floats = NDArray[np.float64]

LABEL, ANNOTATION = "Label", "Annotation"
NUMBER, TIMESTAMP = "Number", "Timestamp"
HIGHEST, LOWEST, NEWEST, OLDEST = "Highest", "Lowest", "Newest", "Oldest"
STRATEGIES = {NUMBER: (HIGHEST, LOWEST), TIMESTAMP: (NEWEST, OLDEST)}

UNKNOWN = SMALLEST  # the raw score of a node that has no value
FARTHEST = 2.0**63 - 1024  # the largest float that fits into 64 bits
DECIMALS = 9  # of a share, so that 0.4 is exactly a third of the way from 0.1 to 1.0
MOST_WARNINGS = 20_000  # remembered, since nodes may have unique names


class NodeMetadata(Score):
    """Prefer nodes by a number or a time in one of their labels or annotations."""

    metadata_key: StrictStr = Field(default="", description="The key of the label or annotation; required.")
    metadata_source: StrictStr = Field(default="", description="Label or Annotation; required.")
    metadata_type: StrictStr = Field(default="", description="Number or Timestamp; required.")
    scoring_strategy: StrictStr = Field(
        default="", description="Highest or Lowest of numbers, Newest or Oldest of times; required."
    )
    timestamp_format: Annotated[StrictStr, AfterValidator(lambda given: given or RFC3339)] = Field(
        default=RFC3339, description="The format of times, as a Go layout."
    )
    default_value: StrictStr = Field(default="", description="The value for nodes without the key; empty: none.")

    caching = Caching(STATIC, per=SHAPE)
    retry_on = ()

    def __post_init__(self) -> None:
        """Start with empty state."""
        super().__post_init__()
        self._look = LastLook()
        self._column: Floats = np.zeros(0)  # the values of nodes, by slot
        self._warned: dict[str, str] = {}  # the invalid value of each node, already logged

    def faults(self, at: At) -> list[Fault]:
        """Return all errors; the original plugin reports only the first, in its constructor."""
        return [
            Fault(Stage.PROFILES, f"invalid NodeMetadataArgs: {text}", (*at, argument), hint)
            for argument, text, hint in (*self._wrong_words(), *self._wrong_values())
        ]

    def _wrong_words(self) -> Iterator[tuple[str, str, str]]:
        if not self.metadata_key:
            yield "metadataKey", "metadataKey cannot be empty", "name the label or annotation that counts"
        if self.metadata_source not in (LABEL, ANNOTATION):
            yield "metadataSource", 'metadataSource must be either "Label" or "Annotation"', ""
        if self.metadata_type not in STRATEGIES:
            yield "metadataType", 'metadataType must be either "Number" or "Timestamp"', ""
        if self.scoring_strategy not in (HIGHEST, LOWEST, NEWEST, OLDEST):
            text = 'scoringStrategy must be one of "Highest", "Lowest", "Newest", or "Oldest"'
            yield "scoringStrategy", text, ""
            return
        for kind, (one, other) in reversed(STRATEGIES.items()):
            if self.scoring_strategy in (one, other) and self.metadata_type in STRATEGIES.keys() - {kind}:
                text = f'scoringStrategy "{one}" and "{other}" are only valid for metadataType "{kind}"'
                yield "scoringStrategy", text, ""

    def _wrong_values(self) -> Iterator[tuple[str, str, str]]:
        # Annotation keys are validated regardless of case.
        key = self.metadata_key.lower() if self.metadata_source == ANNOTATION else self.metadata_key
        for why in key_complaints(key) if key else ():
            yield "metadataKey", f"metadataKey: Invalid value: {quoted(self.metadata_key)}: {why}", ""
        try:
            read = self._read
        except InvalidLayout as error:
            text = f"timestampFormat {quoted(self.timestamp_format)} is not a Go time layout: {error}"
            yield "timestampFormat", text, f"the default is {RFC3339}"
            return
        if self.default_value and read(self.default_value) is None:
            yield "defaultValue", f"defaultValue {quoted(self.default_value)} is {self._not_what_it_must_be}", ""

    def score(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> int:
        """Return the value in thousandths, for display; negated if low or old ones are best."""
        worth = self._worth(node)
        return UNKNOWN if isnan(worth) else round(max(-FARTHEST, min(FARTHEST, worth * 1000)))

    def score_nodes(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Ints:
        """Return the same for many nodes."""
        worth = nodes.at(self._worth_of_all(cycle.nodes))
        with np.errstate(over="ignore"):
            whole = np.rint(np.clip(np.nan_to_num(worth) * 1000, -FARTHEST, FARTHEST)).astype(np.int64)
        return np.where(np.isnan(worth), UNKNOWN, whole)

    def normalize(self, cycle: Cycle, pod: Pod, nodes: Nodes, scores: Ints) -> Ints:
        """Scale the exact values to 1..100, or to 1 if all are equal; a node without a value gets 0."""
        worth = nodes.at(self._worth_of_all(cycle.nodes)) / 2  # or the difference could overflow
        known = ~np.isnan(worth)
        if not known.any():
            return np.zeros_like(scores)
        lowest, highest = worth[known].min(), worth[known].max()
        share = (worth - lowest) / (highest - lowest) if highest > lowest else np.zeros_like(worth)
        steps = np.floor(np.round(share * (MAX_SCORE - 1), DECIMALS)) + 1
        return np.where(known, np.nan_to_num(steps), 0).astype(np.int64)

    def _worth_of_all(self, nodes: Nodes) -> Floats:
        """Return the values of all nodes by slot; only changed nodes are read again."""
        changed = self._look.changes(nodes, None)
        if changed is None:
            self._column = np.fromiter(map(self._worth, nodes), np.float64, len(nodes))
            return self._column
        if len(nodes) != len(self._column):
            self._column = np.resize(self._column, len(nodes))  # the changes include nodes that moved to another slot
        for slot in changed.tolist():
            self._column[slot] = self._worth(nodes[slot])
        return self._column

    def _worth(self, node: NodeInfo) -> float:
        """Return the value of a node, higher is better; NaN if it has none."""
        metadata = node.labels if self.metadata_source == LABEL else node.annotations
        text = metadata.get(self.metadata_key, self.default_value)
        value = self._read(text) if text or self.metadata_key in metadata else nan
        if value is None:
            self._warn(node.name, text)
            return nan
        return -value if self.scoring_strategy in (LOWEST, OLDEST) else value

    @cached_property
    def _read(self) -> Callable[[str], float | None]:
        """Return the parser of values; times become seconds since 1970."""
        return GoLayout(self.timestamp_format).seconds if self.metadata_type == TIMESTAMP else finite_number

    @property
    def _not_what_it_must_be(self) -> str:
        layout = f"a time in the layout {quoted(self.timestamp_format)}"
        return f"not {'a number' if self.metadata_type == NUMBER else layout}"

    def _warn(self, node: str, text: str) -> None:
        if self._warned.get(node) == text:
            return
        if len(self._warned) >= MOST_WARNINGS:
            self._warned.clear()
        self._warned[node] = text
        words = node, self.metadata_source.lower(), self.metadata_key, text, self._not_what_it_must_be
        log.warning("node %s: %s %s=%.80r is %s, the node gets the lowest score", *words)
