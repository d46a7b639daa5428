"""The results of plugins: for one node, for many nodes, and for a pod as a whole."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.uint16]
Bools = NDArray[np.bool_]

FITS: Final = 0
FEW_CASES: Final = 5
MOST_CASES: Final = 31  # with two bits each, as many as fit into an integer

# The reasons in a pod's condition instead of Unschedulable, if no new node could help.
QUEUED: Final = "Queued"
WAITING_FOR_GROUP: Final = "WaitingForGroup"

FollowUp = Callable[[], None]
Case = tuple[str, Bools, Bools | bool]  # a reason, where it applies, where preemption cannot help


class PluginFailed(Exception):
    """A plugin failed with a known reason; the pod is retried after a back-off."""

    cost = 0.0  # seconds of scheduler time lost
    rest = 0.0  # minimum seconds until the retry


@dataclass(frozen=True, slots=True, init=False)
class Rejection:
    """Why a pod does not fit: one or more reasons, and whether evicting other pods could help."""

    reasons: tuple[str, ...]
    preemption_helps: bool
    pending: bool  # the plugin itself triggers the retry, without back-off
    plugin: str = field(default="")  # set by the code that ran the plugin
    held_as: str = field(default="")  # QUEUED or WAITING_FOR_GROUP; "" if another node could help

    def __init__(
        self,
        *reasons: str,
        preemption_helps: bool = True,
        pending: bool = False,
        plugin: str = "",
        held_as: str = "",
    ) -> None:
        object.__setattr__(self, "reasons", reasons)
        object.__setattr__(self, "preemption_helps", preemption_helps)
        object.__setattr__(self, "pending", pending)
        object.__setattr__(self, "plugin", plugin)
        object.__setattr__(self, "held_as", held_as)

    @property
    def message(self) -> str:
        """Return all reasons in one line."""
        return ", ".join(self.reasons)

    def by(self, plugin: str) -> "Rejection":
        """Return the same rejection with the name of its plugin."""
        helps, pending, held_as = self.preemption_helps, self.pending, self.held_as
        return Rejection(*self.reasons, preemption_helps=helps, pending=pending, plugin=plugin, held_as=held_as)


class Skip:
    """The plugin does not apply to this pod; it is not called again in this cycle."""

    def __repr__(self) -> str:
        return "SKIP"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Skip)

    def __hash__(self) -> int:
        return hash(Skip)


SKIP: Final = Skip()
# For every pod of this shape: the plugin is not called for them again.
SKIP_SHAPE: Final = Skip()
# For every pod of this shape, namespace, labels and owner: the plugin is not called for them again until an API object
# or the terms of placed pods change.
SKIP_KIND: Final = Skip()


@dataclass(frozen=True, slots=True)
class OnlyNodes:
    """The pod can only run on nodes with these names; others are not evaluated."""

    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class Wait:
    """The pod has a node, and waits on permit before its bind."""

    seconds: float
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Nominated:
    """A node where the pod will fit once the victims have terminated."""

    node: str
    victims: tuple[str, ...]  # namespace/name
    message: str
    other_nodes: tuple[str, ...] = ()  # further nodes with victims


@dataclass(frozen=True, slots=True)
class NoRoom:
    """Preemption found no solution; the reason is for the pod's condition."""

    message: str
    keeps_nomination: bool = False  # an earlier nomination stays, unless another plugin clears it
    follow_up: FollowUp | None = None  # frees something else; called if the outcome counts, not in a dry run


PreFiltered = OnlyNodes | Rejection | Skip | None
Filtered = Rejection | None


class Verdicts:
    """One verdict for each of many nodes: code 0 means that it fits, code n is the n-th rejection."""

    __slots__ = ("codes", "rejections")

    def __init__(self, codes: Codes, rejections: Sequence[Rejection] = ()) -> None:
        self.codes = codes
        self.rejections = rejections

    @classmethod
    def all_fit(cls, count: int) -> "Verdicts":
        """Every node fits."""
        return cls(np.zeros(count, np.uint16))

    @classmethod
    def where(cls, rejected: Bools, rejection: Rejection) -> "Verdicts":
        """Reject the nodes in the mask, all for the same reason."""
        return cls(rejected.astype(np.uint16), (rejection,))

    @classmethod
    def first_of(cls, *cases: tuple[Bools, Rejection]) -> "Verdicts":
        """Reject each node with the first case that applies to it."""
        codes = np.zeros(len(cases[0][0]), np.uint16)
        for code in range(len(cases), 0, -1):
            np.putmask(codes, cases[code - 1][0], code)  # faster than a mask as an index
        return cls(codes, tuple(rejection for _, rejection in cases))

    @classmethod
    def all_reasons(cls, cases: Sequence[Case]) -> "Verdicts":
        """Reject each node with all cases that apply: a reason, where it applies, and where preemption cannot help.

        Preemption cannot help on a node if it cannot resolve one of its reasons.
        """
        if len(cases) > FEW_CASES:
            return cls._of_many_reasons(cases)
        bits = _bits(cases)
        occurring = np.flatnonzero(np.bincount(bits))  # a table of all combinations is small, and sorting is not cheap
        found = [_combined(int(each), cases) for each in occurring if each]
        table = np.zeros(4 ** len(cases), np.uint16)
        table[occurring[occurring > 0]] = np.arange(1, len(found) + 1)
        return cls(table[bits], found)

    @classmethod
    def _of_many_reasons(cls, cases: Sequence[Case]) -> "Verdicts":
        """Do the same for any number of cases, as many at a time as fit into an integer."""
        parts = [_bits(cases[start : start + MOST_CASES]) for start in range(0, len(cases), MOST_CASES)]
        distinct, codes = np.unique(np.stack(parts) if len(parts) > 1 else parts[0], axis=-1, return_inverse=True)
        numbers = distinct.reshape(len(parts), -1).T.tolist()
        combinations = [sum(bits << (2 * MOST_CASES * part) for part, bits in enumerate(each)) for each in numbers]
        offset = 0 if combinations and combinations[0] == 0 else 1  # they are sorted
        found = [_combined(each, cases) for each in combinations if each]
        return cls((codes.reshape(-1) + offset).astype(np.uint16), found)

    def __getitem__(self, place: int) -> Rejection | None:
        """Return the verdict on one node."""
        code = int(self.codes[place])
        return self.rejections[code - 1] if code else None


def _bits(cases: Sequence[Case]) -> NDArray[np.int64]:
    """Return two bits of each case for every node: whether it applies, and whether preemption cannot help."""
    bits = np.zeros(len(cases[0][1]), np.int64)
    for place, (_, holds, hopeless) in enumerate(cases):
        bits |= holds.astype(np.int64) << (2 * place)
        bits |= (holds & hopeless).astype(np.int64) << (2 * place + 1)
    return bits


def _combined(bits: int, cases: Sequence[Case]) -> Rejection:
    reasons = [reason for place, (reason, _, _) in enumerate(cases) if bits >> (2 * place) & 1]
    hopeless = any(bits >> (2 * place + 1) & 1 for place in range(len(cases)))
    return Rejection(*reasons, preemption_helps=not hopeless)
