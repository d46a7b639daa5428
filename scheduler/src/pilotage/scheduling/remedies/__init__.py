"""The smallest changes that would place a pod that waits; each is tried before it is shown."""

from collections.abc import Generator
from dataclasses import dataclass

from pilotage.cache.cluster_cache import ClusterCache
from pilotage.framework.api.remedies import Remedy
from pilotage.model.pod import Pod
from pilotage.scheduling.attempt import Nominations
from pilotage.scheduling.engine import Engine
from pilotage.scheduling.remedies.gang_search import Members, members_of, searched_for_gang
from pilotage.scheduling.remedies.search import searched
from pilotage.scheduling.remedies.trying import Tries
from pilotage.scheduling.remedies.why_not import WhyNot, why_not

NOTHING_HELPS = "no single change helps, and no two of those that were tried"


@dataclass(frozen=True)
class Remedies:
    """What was found, the best first, and how short a gang is, or that nothing helps."""

    remedies: tuple[Remedy, ...] = ()
    note: str = ""  # what else there is to say
    tries: int = 0  # attempts that it took


def search(
    cache: ClusterCache, engine: Engine, nominations: Nominations, pod: Pod, gang: Members | None = None
) -> Generator[None, None, Remedies]:
    """Look for what would place a pod, or its whole gang; others may have a turn at each yield.

    Nothing is changed between two of them. Nobody must decide anything else while a step runs.
    """
    tries = Tries(cache, engine, nominations, pod)
    short = ""
    if gang is not None:
        found, short = yield from searched_for_gang(tries, gang)
    if gang is None or not found:
        found = yield from searched(tries)
    return Remedies(found, short or ("" if found else NOTHING_HELPS), tries.number)


def search_at_once(
    cache: ClusterCache, engine: Engine, nominations: Nominations, pod: Pod, gang: Members | None = None
) -> Remedies:
    """Do the same without a turn for anybody else."""
    steps = search(cache, engine, nominations, pod, gang)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: Remedies = end.value
            return found


__all__ = ["Members", "Remedies", "WhyNot", "members_of", "search", "search_at_once", "why_not"]
