"""The smallest changes that would place a waiting pod; each was tried, or says why it could not be."""

from collections.abc import Generator
from dataclasses import dataclass

from pilotage.cache.cluster_cache import ClusterCache
from pilotage.framework.api.remedies import Remedy
from pilotage.model.pod import Pod
from pilotage.scheduling.attempt import Nominations
from pilotage.scheduling.engine import Engine
from pilotage.scheduling.remedies.gang_search import (
    NO_COPY,
    TOO_LARGE,
    counted_for_gang,
    tried_for_gang,
)
from pilotage.scheduling.remedies.gate_search import Found, Gate, gate_of, searched_behind
from pilotage.scheduling.remedies.members import Siblings, siblings_of
from pilotage.scheduling.remedies.search import searched
from pilotage.scheduling.remedies.trying import Tries
from pilotage.scheduling.remedies.why_not import WhyNot, why_not

NOTHING_HELPS = "no single change helps, and no two of those that were tried"


@dataclass(frozen=True)
class Remedies:
    """What was found, the best first."""

    remedies: tuple[Remedy, ...] = ()
    note: str = ""  # how short a gang is, what a gated pod would wait for, or that nothing helps
    tries: int = 0  # how many changes were tried


def search(
    cache: ClusterCache,
    engine: Engine,
    nominations: Nominations,
    pod: Pod,
    gang: Siblings | None = None,
    gate: Gate | None = None,
    *,
    is_copy: bool = False,
) -> Generator[None, None, Remedies]:
    """Look for what would place a pod, or its whole gang; other work may run at each yield.

    While a step runs, nothing else may be decided. Between two steps the cluster is as it was, so that the search can
    run beside a scheduler. In a copy of a cluster it is not: pods of a gang hold places there.
    """
    tries = Tries(cache, engine, nominations, pod)
    if gang is None:
        found, note = yield from _for_pod(tries, gate)
        return Remedies(found, note, tries.number)
    if is_copy and not gang.is_large:
        of_gang = yield from tried_for_gang(tries, gang)
    else:
        of_gang = yield from counted_for_gang(tries, gang, TOO_LARGE if gang.is_large else NO_COPY)
    found, note = of_gang.remedies, of_gang.note
    if not found and not of_gang.fits:  # perhaps no pod of it fits anywhere
        found, _ = yield from _for_pod(tries, gate)
    return Remedies(found, note or ("" if found else NOTHING_HELPS), tries.number)


def _for_pod(tries: Tries, gate: Gate | None) -> Generator[None, None, Found]:
    if gate is not None:
        found, note = yield from searched_behind(tries, gate)
    else:
        found, note = (yield from searched(tries)), ""
    return found, note or ("" if found else NOTHING_HELPS)


def search_at_once(
    cache: ClusterCache,
    engine: Engine,
    nominations: Nominations,
    pod: Pod,
    gang: Siblings | None = None,
    gate: Gate | None = None,
) -> Remedies:
    """Do the same in one step, after which the cluster is as it was."""
    steps = search(cache, engine, nominations, pod, gang, gate, is_copy=True)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: Remedies = end.value
            return found


__all__ = ["Gate", "Remedies", "Siblings", "WhyNot", "gate_of", "search", "search_at_once", "siblings_of", "why_not"]
