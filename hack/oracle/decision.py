"""What a scheduler said about one pod."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

Scores = Mapping[str, Mapping[str, int]]  # plugin -> node -> weighted score

GATED = "SchedulingGated"


@dataclass(frozen=True)
class Decision:
    """One decision, as far as it can be seen from outside."""

    pod: str
    node: str | None = None
    reason: str = ""  # of the condition PodScheduled=False
    message: str = ""  # of the same condition, in full
    feasible: frozenset[str] = frozenset()
    scores: Scores = field(default_factory=dict)  # empty if fewer than two nodes are feasible
    totals: Mapping[str, int] = field(default_factory=dict)
    nominated: str = ""
    victims: frozenset[str] = frozenset()
    rejectors: frozenset[str] = frozenset()  # plugins whose verdict made the pod wait
    # What was written to the claims of a placed pod; ours would write it for the node that the real one took.
    claims: Mapping[str, Any] = field(default_factory=dict)
    # Where several evictions are equally good, kube-scheduler takes any: node -> victims. Only ours knows them.
    equally_good: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @property
    def best(self) -> frozenset[str]:
        """The nodes of which any may be chosen."""
        highest = max(self.totals.values(), default=0)
        tied = frozenset(node for node, total in self.totals.items() if total == highest)
        return tied or self.feasible

    @property
    def outcome(self) -> str:
        """One word for counting."""
        if self.node:
            return "bound"
        if self.nominated and self.victims:
            return "preempting"
        return {GATED: "gated", "SchedulerError": "error"}.get(self.reason, "unschedulable")

    def to_json(self) -> str:
        """One line."""
        return json.dumps(asdict(self), sort_keys=True, default=sorted)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The decision that `to_json` wrote."""
        content: dict[str, Any] = json.loads(text)
        for name in ("feasible", "victims", "rejectors"):
            content[name] = frozenset(content[name])
        content["equally_good"] = {node: frozenset(pods) for node, pods in content["equally_good"].items()}
        return cls(**content)
