"""Counts what the real scheduler was seen to do, so that no plugin stays untested unnoticed."""

import re
from collections import Counter, defaultdict

from oracle.decision import Decision
from oracle.scenario import Scenario

# Every default plugin that can be seen to reject a pod that has no node yet.
REJECTING = frozenset(
    {
        "SchedulingGates",
        "NodeUnschedulable",
        "TaintToleration",
        "NodeAffinity",
        "NodePorts",
        "NodeResourcesFit",
        "VolumeRestrictions",
        "NodeVolumeLimits",
        "VolumeBinding",
        "VolumeZone",
        "PodTopologySpread",
        "InterPodAffinity",
        "DynamicResources",
        "NodeDeclaredFeatures",
    }
)
# Every default plugin that scores.
SCORING = frozenset(
    {
        "TaintToleration",
        "NodeAffinity",
        "NodeResourcesFit",
        "VolumeBinding",
        "PodTopologySpread",
        "InterPodAffinity",
        "NodeResourcesBalancedAllocation",
        "ImageLocality",
        "DynamicResources",
    }
)
OUTCOMES = ("bound", "unschedulable", "preempting", "gated", "error")


class Coverage:
    """What was seen so far."""

    def __init__(self) -> None:
        self.scenarios: set[int] = set()
        self.decisions = 0
        self.outcomes: dict[str, Counter[str]] = defaultdict(Counter)
        self.rejecting: Counter[str] = Counter()
        self.scoring: Counter[str] = Counter()
        self.ties = 0
        self.messages: Counter[str] = Counter()

    def see(self, scenario: Scenario, decision: Decision) -> None:
        """Count one decision."""
        self.scenarios.add(scenario.seed)
        self.decisions += 1
        self.outcomes[scenario.subject][decision.outcome] += 1
        self.rejecting.update(decision.rejectors)
        self.scoring.update(name for name, nodes in decision.scores.items() if len({*nodes.values()}) > 1)
        self.ties += len(decision.best) > 1
        self.messages.update(reasons_in(decision.message))

    def untested(self) -> set[str]:
        """What no decision showed: rejections, scores that tell nodes apart, an eviction."""
        missing = {f"{name} rejects" for name in REJECTING - self.rejecting.keys()}
        missing |= {f"{name} scores" for name in SCORING - self.scoring.keys()}
        evicting = any(counts["preempting"] for counts in self.outcomes.values())
        return missing if evicting else missing | {"DefaultPreemption evicts"}

    def report(self) -> str:
        """The counts as tables."""
        rows = [f"{'subject':33}" + "".join(f"{name:>14}" for name in OUTCOMES)]
        for subject, counts in self.outcomes.items():
            rows.append(f"{subject:33}" + "".join(f"{counts[name]:14}" for name in OUTCOMES))
        tables = [
            f"{len(self.scenarios)} scenarios, {self.decisions} decisions, {self.ties} with several best nodes",
            "\n".join(rows),
            f"rejecting: {_counts(self.rejecting)}",
            f"scoring nodes differently: {_counts(self.scoring)}",
            "\n".join(["reasons:", *(f"{count:7} {reason}" for reason, count in self.messages.most_common())]),
        ]
        return "\n\n".join(tables)


def reasons_in(message: str) -> list[str]:
    """The distinct reasons in a message, without counts and generated names."""
    parts = re.split(r"(?:0/\d+ nodes are available: |, |\.? ?(?=preemption: ))", message)
    plain = (re.sub(r"n\d+-\d+", "NODE", re.sub(r"^\d+ ", "", part)).strip(" .") for part in parts)
    return sorted({re.sub(r"\d+", "N", part) for part in plain if part})


def _counts(counter: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counter.most_common())
