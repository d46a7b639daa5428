"""A plugin's results: for one node, for many at once, and for a pod as a whole."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.uint16]
Bools = NDArray[np.bool_]

FITS: Final = 0
FEW_CASES: Final = 5
MOST_CASES: Final = 31  # whose bits, two of each, fit into a number

# What a pod's condition says instead of Unschedulable where no node of any kind could help.
QUEUED: Final = "Queued"
WAITING_FOR_GROUP: Final = "WaitingForGroup"

Case = tuple[str, Bools, Bools | bool]  # a reason, where it holds, where it is hopeless


class PluginFailed(Exception):
    """A plugin failed, for a reason that it can name; the pod is retried after a back-off."""

    cost = 0.0  # seconds that the scheduler has lost
    rest = 0.0  # seconds that the pod waits at least


@dataclass(frozen=True, slots=True, init=False)
class Rejection:
    """Why a pod cannot go somewhere: one or more reasons, and whether evicting other pods could help."""

    reasons: tuple[str, ...]
    preemption_helps: bool
    pending: bool  # the plugin itself will say when to retry; no back-off then
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
        """Return the same rejection with the plugin that said it."""
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
# The same for every pod of this shape: the plugin is not called for them again.
SKIP_SHAPE: Final = Skip()
# The same for every pod of this shape, namespace, labels and owner, until an API object or the terms of placed pods
# change: until then the plugin is not called for them again.
SKIP_KIND: Final = Skip()


@dataclass(frozen=True, slots=True)
class OnlyNodes:
    """The pod can only go to nodes with these names; the others are not evaluated."""

    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class Wait:
    """The pod has its node and waits for permission to be bound."""

    seconds: float
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Nominated:
    """A node where the pod will fit once the victims are gone."""

    node: str
    victims: tuple[str, ...]  # namespace/name
    message: str
    other_nodes: tuple[str, ...] = ()  # where victims are besides


@dataclass(frozen=True, slots=True)
class NoRoom:
    """No way to make room was found; the reason is for the pod's condition."""

    message: str
    keeps_nomination: bool = False  # an earlier nomination still stands, if no other plugin clears it


PreFiltered = OnlyNodes | Rejection | Skip | None
Filtered = Rejection | None


class Verdicts:
    """One verdict for each of many nodes: a code 0 fits, a code n is the n-th rejection."""

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
        """The nodes that the mask marks are rejected, all for the same reason."""
        return cls(rejected.astype(np.uint16), (rejection,))

    @classmethod
    def first_of(cls, *cases: tuple[Bools, Rejection]) -> "Verdicts":
        """Each node is rejected by the first case that marks it."""
        codes = np.zeros(len(cases[0][0]), np.uint16)
        for code in range(len(cases), 0, -1):
            np.putmask(codes, cases[code - 1][0], code)  # faster than a mask as an index
        return cls(codes, tuple(rejection for _, rejection in cases))

    @classmethod
    def all_reasons(cls, cases: Sequence[Case]) -> "Verdicts":
        """Each node is rejected for every case that marks it: a reason, where it holds, and where it is hopeless.

        Preemption cannot help a node if any of its reasons is unresolvable there.
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
        """Do the same for any number of cases, as many at a time as a number has bits for."""
        parts = [_bits(cases[start : start + MOST_CASES]) for start in range(0, len(cases), MOST_CASES)]
        distinct, codes = np.unique(np.stack(parts) if len(parts) > 1 else parts[0], axis=-1, return_inverse=True)
        numbers = distinct.reshape(len(parts), -1).T.tolist()
        combinations = [sum(bits << (2 * MOST_CASES * part) for part, bits in enumerate(each)) for each in numbers]
        offset = 0 if combinations and combinations[0] == 0 else 1  # they are sorted
        found = [_combined(each, cases) for each in combinations if each]
        return cls((codes.reshape(-1) + offset).astype(np.uint16), found)

    def __getitem__(self, place: int) -> Rejection | None:
        """Return the verdict about one node."""
        code = int(self.codes[place])
        return self.rejections[code - 1] if code else None


def _bits(cases: Sequence[Case]) -> NDArray[np.int64]:
    """Return two bits of each case for every node: whether it holds there, and whether it is hopeless too."""
    bits = np.zeros(len(cases[0][1]), np.int64)
    for place, (_, holds, hopeless) in enumerate(cases):
        bits |= holds.astype(np.int64) << (2 * place)
        bits |= (holds & hopeless).astype(np.int64) << (2 * place + 1)
    return bits


def _combined(bits: int, cases: Sequence[Case]) -> Rejection:
    reasons = [reason for place, (reason, _, _) in enumerate(cases) if bits >> (2 * place) & 1]
    hopeless = any(bits >> (2 * place + 1) & 1 for place in range(len(cases)))
    return Rejection(*reasons, preemption_helps=not hopeless)
