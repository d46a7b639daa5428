"""Counts of placed pods by node, and their affinity terms."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

import numpy as np

from pilotage.framework.api.nodes import Ids, NodeInfo
from pilotage.model.pod import Pod
from pilotage.model.selectors import LabelKey

# The number of pods on each node, by slot; or, if they are on few nodes, the slots of these and their numbers.
Places = Ids | tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class PodQuery:
    """Pods that meet every condition: each a set of namespaces (None for all) and label requirements (None for none).

    The requirements are the canonical key of a selector, which `LabelMatcher.requirements` holds.
    """

    conditions: tuple[tuple[frozenset[str] | None, LabelKey | None], ...]
    without_terminating: bool = False


class TermKind(IntEnum):
    """The kinds of affinity terms of placed pods; numbers, because lists are faster than dictionaries here."""

    REQUIRED_AFFINITY = 0
    REQUIRED_ANTI_AFFINITY = 1
    PREFERRED_AFFINITY = 2
    PREFERRED_ANTI_AFFINITY = 3


@dataclass(frozen=True, slots=True)
class CarriedTerm:
    """An affinity term of placed pods, and the nodes of these pods."""

    topology_key: str
    weight: int  # 0 for required ones
    places: Places
    nodes: int

    @property
    def counts(self) -> Ids:
        """Return how many of them are on each node, by slot; read only."""
        if not isinstance(self.places, tuple):
            return self.places
        counts: Ids = np.zeros(self.nodes, np.int32)
        for slot, number in self.places:
            counts[slot] = number
        return counts


class PlacedPods(Protocol):
    """All pods that are bound or about to be bound."""

    def counts(self, query: PodQuery) -> Ids:
        """Return how many pods of the query are on each node, by slot; read only, and valid only for this cycle."""

    @property
    def terms_version(self) -> int:
        """Return a number that grows when a term first appears among placed pods, or disappears."""

    def terms_about(self, pod: Pod, kind: TermKind) -> Sequence[CarriedTerm]:
        """Return the terms of placed pods that match this pod."""

    def claim_users(self, namespace: str, claim: str) -> int:
        """Return how many pods use a claim by name."""

    def claim_nodes(self, namespace: str, claim: str) -> Sequence[NodeInfo]:
        """Return the nodes of the pods that use a claim by name."""
