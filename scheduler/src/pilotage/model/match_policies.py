"""Which pods of a group count towards its quorum, chosen by an annotation of the group."""

from enum import StrEnum
from typing import Final

from pilotage.model.metadata import Metadata

# An annotation, not a field: CRDs of PodGroup from other projects would drop an unknown field.
MATCH_POLICY: Final = "pod-group.pilotage.dev/match-policy"


class MatchPolicy(StrEnum):
    """What counts."""

    WAITING_AND_PLACED = "WaitingAndPlaced"  # pods that wait or have a node
    ONLY_WAITING = "OnlyWaiting"  # each new batch of pods needs a whole quorum
    ONCE_SATISFIED = "OnceSatisfied"  # after the first quorum pods are independent


_POLICIES: Final = {policy.value: policy for policy in MatchPolicy}


def match_policy(metadata: Metadata) -> MatchPolicy | None:
    """Return the policy of a group, or the default; None if it names an unknown one."""
    named = metadata.annotations.get(MATCH_POLICY)
    return MatchPolicy.WAITING_AND_PLACED if named is None else _POLICIES.get(named)
