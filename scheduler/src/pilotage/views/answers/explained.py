"""Explanations."""

from msgspec import field

from pilotage.views.answers.parts import Common, Part, ReasonGroup, RemedyShown


class PluginWeight(Part, frozen=True):
    """A plugin that scores."""

    plugin: str
    weight: int


class ScoreShown(Part, frozen=True):
    """The score of one node by one plugin."""

    plugin: str
    raw: int
    normalized: int
    weighted: int


class NodeExplained(Part, frozen=True):
    """One node: why it is rejected, or its scores."""

    node: str
    fits: bool
    plugin: str = ""
    reasons: list[str] = []
    details: list[str] = []  # the figures behind the reasons, one for each
    spared: str = ""  # why no pod is evicted there for now
    scores: list[ScoreShown] = []
    total: int = 0


class NodesExplained(Part, frozen=True):
    """A page of nodes."""

    total: int = 0
    items: list[NodeExplained] = []
    continue_: str = field(name="continue", default="")


class Explanation(Common, frozen=True, tag="Explanation"):
    """Why a pod fits or does not fit each node, decided now."""

    namespace: str
    name: str
    profile: str
    before: ReasonGroup | None = None  # a rejection before any node was evaluated
    error: str = ""
    fits: int = 0  # number of nodes
    nodes_total: int = 0
    groups: list[ReasonGroup] = []
    scoring: list[PluginWeight] = []
    nodes: NodesExplained = NodesExplained()
    remedies: list[RemedyShown] = []
    no_remedy: str = ""  # why there are no remedies
    chosen: str = ""  # the node with the highest score; one of them, if there are ties
    ties: int = 0
    why_not: str = ""  # for a placed pod: what the named node lacks
