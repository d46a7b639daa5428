"""Which pods of a group count towards its quorum: an annotation of the group chooses."""

from enum import StrEnum
from typing import Final

from pilotage.model.metadata import Metadata

# An annotation, not a field: definitions of PodGroup that others bring would drop a field that they do not know.
MATCH_POLICY: Final = "pod-group.pilotage.dev/match-policy"


class MatchPolicy(StrEnum):
    """What counts."""

    WAITING_AND_PLACED = "WaitingAndPlaced"  # whoever waits or has a place
    ONLY_WAITING = "OnlyWaiting"  # each new batch of pods needs a whole quorum
    ONCE_SATISFIED = "OnceSatisfied"  # after the first quorum each pod is for itself


_POLICIES: Final = {policy.value: policy for policy in MatchPolicy}


def match_policy(metadata: Metadata) -> MatchPolicy | None:
    """Return the policy that a group chooses, or else the default; None if it names one that there is not."""
    named = metadata.annotations.get(MATCH_POLICY)
    return MatchPolicy.WAITING_AND_PLACED if named is None else _POLICIES.get(named)
