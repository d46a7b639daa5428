"""Plugins that say what they are told to, for tests of the engine that asks them."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from pilotage.framework.api.caching import Scope
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.nodes import NodeInfo
from pilotage.framework.api.plugin import Filter, Plugin, PostFilter, PreFilter, Score
from pilotage.framework.api.verdicts import Rejection, Verdicts
from pilotage.model.pod import Pod
from pilotage.scheduling.outcome import Outcome, Placed, Unplaced
from pilotage.testing import FakeCluster, FakeScheduler, make_node

SCOPES = list(Scope)
NO, NEVER = Rejection("no"), Rejection("never", preemption_helps=False)
EVERYWHERE = {f"n{i}": NO for i in range(1, 4)}


class Says(Filter):
    """Says about each node what it is told to, or nothing."""

    about: Mapping[str, Any] = Field(default_factory=dict)

    def filter(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> Any:
        """Return the answer, or raise it."""
        return _told(self.about.get(node.name))


class Alpha(Says):
    """The first, usually."""


class Beta(Says):
    """The second."""


class Gamma(Says):
    """The third."""


class Before(PreFilter):
    """Says it before any node."""

    answer: Any = None

    def pre_filter(self, cycle: Cycle, pod: Pod) -> Any:
        """Return the answer, or raise it."""
        return _told(self.answer)


class Also(Before):
    """Says something before any node, too."""


class Room(PostFilter):
    """Makes room, or does not."""

    answer: Any = None

    def post_filter(self, cycle: Cycle, pod: Pod, verdicts: Verdicts) -> Any:
        """Return the answer, or raise it."""
        return self.answer(verdicts) if callable(self.answer) else _told(self.answer)


class Parlour(Room):
    """Makes room after the other one."""


class Likes(Score):
    """Gives each node the score it is told to."""

    scores: Mapping[str, Any] = Field(default_factory=dict)

    def score(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> int:
        """Return the score, or raise it."""
        return int(_told(self.scores[node.name]))


class Loves(Likes):
    """Likes, too."""


def _told(answer: Any) -> Any:
    if isinstance(answer, Exception):
        raise answer
    return answer


def scoped(depends_on: Scope, plugin: type[Any]) -> type[Any]:
    """Return the same plugin with another scope."""
    fields = {"depends_on": depends_on, "__doc__": plugin.__doc__, "__module__": plugin.__module__}
    return type(plugin.__name__, (plugin,), fields)


def cluster_of(count: int) -> FakeCluster:
    """Return a cluster with the nodes n1, n2 and so on."""
    return FakeCluster([make_node(f"n{i}") for i in range(1, count + 1)])


def scheduler_of(*plugins: Plugin, nodes: int = 3, **options: Any) -> FakeScheduler:
    """Return a scheduler with these plugins on such a cluster."""
    return FakeScheduler(*plugins, cluster=cluster_of(nodes), **options)


def unplaced(outcome: Outcome) -> Unplaced:
    """Return the outcome, which must be that there is no place."""
    assert isinstance(outcome, Unplaced), outcome
    return outcome


def node_of(outcome: Outcome) -> str:
    """Return the node of a pod, which must have one."""
    assert isinstance(outcome, Placed), outcome
    return outcome.node
