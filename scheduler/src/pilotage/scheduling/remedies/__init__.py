"""The smallest changes that would place a pod that waits; each is tried before it is shown."""

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field

from pilotage.cache.cluster_cache import ClusterCache
from pilotage.framework.api.remedies import Remedy
from pilotage.model.pod import Pod
from pilotage.scheduling.attempt import Nominations
from pilotage.scheduling.engine import Engine


@dataclass(frozen=True)
class Remedies:
    """What was found: the best first, and what to say if there is nothing."""

    remedies: tuple[Remedy, ...] = ()
    none: str = ""


@dataclass(frozen=True)
class WhyNot:
    """Why a pod is not on a node: what rejects it there, or by how much others are better, the largest part first."""

    node: str
    text: str
    behind: int = 0  # the best node's total minus this one's
    by_plugin: Mapping[str, int] = field(default_factory=dict)  # weighted: below zero where this node is worse
    remedies: tuple[Remedy, ...] = ()


def search(cache: ClusterCache, engine: Engine, nominations: Nominations, pod: Pod) -> Generator[None, None, Remedies]:
    """Look for what would place a pod; yields where others may have a turn, nothing is changed in between."""
    yield
    return Remedies()
