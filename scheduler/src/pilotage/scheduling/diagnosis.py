"""Why a pod fits nowhere: counted for its owner, and by plugin for the queue."""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from pilotage.framework.fit_error import fit_error
from pilotage.framework.runner import BeforeNodes
from pilotage.framework.verdicts import Rejection, Verdicts


@dataclass(frozen=True)
class Diagnosis:
    """What was said about all nodes, or about the pod before any."""

    verdicts: Verdicts  # about all nodes
    before: BeforeNodes

    def message(self, after: str) -> str:
        """Return the text for the pod's owner; `after` is what came of trying to make room."""
        count, before = len(self.verdicts.codes), self.before.rejection
        if before is not None and before.message:
            text = f"0/{count} nodes are available: {before.message}."
        else:
            text = fit_error(count, self.reasons())
        return f"{text} {after}" if after else text

    def reasons(self) -> Counter[str]:
        """Return on how many nodes each reason holds."""
        reasons: Counter[str] = Counter()
        for rejection, number in self._counted():
            for reason in rejection.reasons:
                reasons[reason] += number
        return reasons

    def rejected_by(self) -> frozenset[str]:
        """Return the plugins whose change of mind could help."""
        rejecting = {rejection.plugin for rejection, _ in self._counted() if rejection.plugin}
        return frozenset(rejecting.union(self.before.restricting))

    def pending(self) -> frozenset[str]:
        """Return those of them that will say themselves when to try again."""
        return frozenset(rejection.plugin for rejection, _ in self._counted() if rejection.pending)

    def _counted(self) -> list[tuple[Rejection, int]]:
        numbers = np.bincount(self.verdicts.codes, minlength=1).tolist()
        return [(self.verdicts.rejections[code - 1], number) for code, number in enumerate(numbers) if code and number]
