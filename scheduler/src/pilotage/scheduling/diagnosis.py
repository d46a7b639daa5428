"""Why a pod fits no node: counted by reason for its owner, and by plugin for the queue."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.verdicts import Rejection, Verdicts
from pilotage.framework.runtime.fit_error import fit_error
from pilotage.framework.runtime.own_nodes import NOT_OWN, NodesOfProfile, is_left_out
from pilotage.framework.runtime.runner import PreFilterResult

NO_NODES = "no nodes available to schedule pods"


@dataclass(frozen=True)
class Diagnosis:
    """The verdicts on all nodes, or a rejection of the pod before any node was evaluated."""

    verdicts: Verdicts  # on all nodes
    before: PreFilterResult

    @property
    def nodes(self) -> int:
        """Return how many nodes exist for the profile."""
        return len(self.verdicts.codes) - sum(n for rejection, n in self.counted if is_left_out(rejection))

    def message(self, after: str) -> str:
        """Return the text for the pod's owner; `after` is the result of preemption."""
        count, before = self.nodes, self.before.rejection
        if not count and len(self.verdicts.codes):
            text = f"{NO_NODES}: none of the {len(self.verdicts.codes)} in the cluster is the profile's own"
        elif before is not None and before.message:
            text = f"0/{count} nodes are available: {before.message}."
        else:
            text = fit_error(count, self.reasons())
        return f"{text} {after}" if after else text

    def reasons(self) -> Counter[str]:
        """Return on how many nodes each reason holds."""
        reasons: Counter[str] = Counter()
        for rejection, number in self.counted:
            if is_left_out(rejection):
                continue
            for reason in rejection.reasons:
                reasons[reason] += number
        return reasons

    @property
    def held_as(self) -> str:
        """Return the condition's reason if the pod would wait on any node; "" if another node could help."""
        return "" if self.before.rejection is None else self.before.rejection.held_as

    def rejected_by(self) -> frozenset[str]:
        """Return the plugins that rejected the pod or nodes."""
        rejecting = {rejection.plugin for rejection, _ in self.counted if rejection.plugin}
        return frozenset(rejecting.union(self.before.restricting))

    def pending(self) -> frozenset[str]:
        """Return those of them that decide themselves when to retry."""
        return frozenset(rejection.plugin for rejection, _ in self.counted if rejection.pending)

    def beyond_help(self, slots: Iterable[int]) -> "Diagnosis":
        """Return a copy in which evictions cannot help on some nodes."""
        codes, rejections = self.verdicts.codes.copy(), list(self.verdicts.rejections)
        for slot in slots:
            found = self.verdicts[slot]
            if found is not None and found.preemption_helps:
                rejections.append(Rejection(*found.reasons, preemption_helps=False, plugin=found.plugin))
                codes[slot] = len(rejections)
        return Diagnosis(Verdicts(codes, rejections), self.before)

    @cached_property
    def counted(self) -> list[tuple[Rejection, int]]:
        """Return the rejections, each with its number of nodes."""
        numbers = np.bincount(self.verdicts.codes, minlength=1).tolist()
        return [(self.verdicts.rejections[code - 1], number) for code, number in enumerate(numbers) if code and number]


def rejected_everywhere(cycle: Cycle, before: PreFilterResult, rejection: Rejection) -> Diagnosis:
    """Return the diagnosis of a pod that was rejected before any node was evaluated."""
    codes, own = np.ones(len(cycle.nodes), np.uint16), cycle.remit.own(cycle.nodes)
    if own is None:
        return Diagnosis(Verdicts(codes, [rejection]), before)
    codes[~own] = 2
    return Diagnosis(Verdicts(codes, [rejection, NOT_OWN.by(NodesOfProfile.name)]), before)
