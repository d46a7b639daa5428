"""The cached verdicts and scores of one class of pods, by slot."""

from collections.abc import Collection, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pilotage.framework.api.node_memory import NodeMemory
from pilotage.framework.api.nodes import Bools, Ids, Ints, Nodes
from pilotage.framework.api.verdicts import Codes, Rejection
from pilotage.framework.runtime.fence import CycleFailed
from pilotage.scheduling.equivalence.nominated_nodes import NOT_NOMINATED, NominatedNodeCache

NEVER = (-1, -1)
LAST_RANK = np.iinfo(np.int16).max
MOST_CODES = NOT_NOMINATED - 1


class EquivalenceEntry:
    """The verdicts and scores of one class of pods, by slot."""

    def __init__(self) -> None:
        self.count = 0  # nodes
        self.used_at = 0.0  # in seconds of a monotonic clock
        self.codes: Codes = np.zeros(0, np.uint16)  # the first rejection of all cacheable plugins
        self.static_codes: Codes = np.zeros(0, np.uint16)  # the same, for plugins that depend only on the node object
        self.absolute: Ints = np.zeros(0, np.int64)  # weighted scores that need no normalisation, summed
        self.static_absolute: Ints = np.zeros(0, np.int64)
        self.static_scored: Bools = np.zeros(0, np.bool_)  # the part that depends only on the node object is known
        self.ranked: Ints = np.zeros(0, np.int64)  # like absolute, with NOWHERE for rejected nodes
        self.raw: dict[str, Ints] = {}  # scores that need normalisation
        self.uniform: dict[str, int | None] = {}  # the value, if it is the same for all feasible nodes
        self.rejected = 0  # nodes
        self.left: Nodes | None = None  # the feasible nodes, if computed since they changed
        self.memory = NodeMemory()  # results of trials on nodes
        self.nominated = NominatedNodeCache()
        self.rejections: list[Rejection] = []
        self.ranks: NDArray[np.int16] = np.array([LAST_RANK], np.int16)  # by code: the position of the rejecting plugin
        self._codes_of: dict[tuple[int, Rejection], int] = {}
        self.filtered_at = NEVER  # static version, version
        self.scored_at = NEVER
        self.filter_epochs: tuple[int, ...] | None = None
        self.score_epochs: tuple[int, ...] | None = None
        self.score_skipped: frozenset[str] = frozenset()

    def forget(self, changed: Collection[int] | Ids | None) -> None:
        """Forget results of trials on changed nodes, or on all of them."""
        if not self.memory and not self.nominated:
            return
        slots = changed.tolist() if isinstance(changed, np.ndarray) else changed
        self.memory.forget(slots)
        self.nominated.forget(slots)

    def code(self, rejection: Rejection, rank: int) -> int:
        """Return the code of a rejection by the plugin at a position of the filter order."""
        known = self._codes_of.get((rank, rejection))
        return int(self.codes_for((rejection,), rank)[1]) if known is None else known

    def codes_for(self, rejections: Iterable[Rejection], rank: int) -> Codes:
        """Return the table from a plugin's own codes to those of the entry."""
        known, table = len(self.rejections), [0]
        for rejection in rejections:
            code = self._codes_of.get((rank, rejection))
            if code is None:
                self.rejections.append(rejection)
                code = self._codes_of[rank, rejection] = len(self.rejections)
            table.append(code)
        if len(self.rejections) > MOST_CODES:
            raise CycleFailed("there are more different reasons than the cache can hold")
        if len(self.rejections) > known:
            self.ranks = np.append(self.ranks, np.full(len(self.rejections) - known, rank, np.int16))
        return np.array(table, np.uint16)

    def resize(self, count: int) -> None:
        """Follow the number of nodes; new ones have no results yet."""
        if len(self.codes) < count:
            size = max(count, len(self.codes) + len(self.codes) // 2)
            for name in ("codes", "static_codes", "absolute", "static_absolute", "static_scored", "ranked"):
                setattr(self, name, _grown(getattr(self, name), size))
            self.raw = {name: _grown(scores, size) for name, scores in self.raw.items()}
        self.count, self.left = count, None
        self.recount()

    def recount(self) -> None:
        """Count the rejected nodes."""
        self.rejected = int(np.count_nonzero(self.codes[: self.count]))

    def nodes_left(self, nodes: Nodes) -> Nodes:
        """Return the feasible nodes."""
        if not self.rejected:
            return nodes
        if self.left is None:
            self.left = nodes.take(np.flatnonzero(self.codes[: self.count] == 0).astype(np.int32))
        return self.left

    def totals(self, nodes: Nodes, parts: Iterable[Ints]) -> Ints:
        """Return the total scores of nodes, including those that are not in the entry."""
        totals = self.absolute[nodes.slots]
        for part in parts:
            totals += part
        return totals

    def keep_raw(self, plugin: str, nodes: Nodes, scores: Ints) -> None:
        """Keep scores that need normalisation, and whether they are the same for all nodes so far."""
        raw = self.raw.get(plugin)
        if raw is None:
            raw = self.raw[plugin] = np.zeros(len(self.codes), np.int64)
        raw[nodes.slots] = scores
        if len(scores):
            first = int(scores[0])
            same = self.uniform.get(plugin, first) == first and bool((scores == first).all())
            self.uniform[plugin] = first if same else None


def _grown(array: NDArray[Any], size: int) -> NDArray[Any]:
    grown = np.zeros(size, array.dtype)
    grown[: len(array)] = array
    return grown
