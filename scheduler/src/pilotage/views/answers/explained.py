"""Why a pod goes where it goes."""

from msgspec import field

from pilotage.views.answers.parts import Common, Part, ReasonGroup, RemedyShown


class PluginWeight(Part, frozen=True):
    """A plugin that scores."""

    plugin: str
    weight: int


class ScoreShown(Part, frozen=True):
    """What one plugin thinks of one node."""

    plugin: str
    raw: int
    normalized: int
    weighted: int


class NodeExplained(Part, frozen=True):
    """One node: why it does not do, or how good it is."""

    node: str
    fits: bool
    plugin: str = ""
    reasons: list[str] = []
    details: list[str] = []  # the figures behind the reasons, one for each
    spared: str = ""  # who could make room there, and is left alone for now
    scores: list[ScoreShown] = []
    total: int = 0


class NodesExplained(Part, frozen=True):
    """A page of nodes."""

    total: int = 0
    items: list[NodeExplained] = []
    continue_: str = field(name="continue", default="")


class Explanation(Common, frozen=True, tag="Explanation"):
    """Why a pod goes where it goes, or nowhere, as it would be decided now."""

    namespace: str
    name: str
    profile: str
    before: ReasonGroup | None = None  # what turned the pod down before any node was looked at
    error: str = ""
    fits: int = 0  # how many nodes do
    nodes_total: int = 0
    groups: list[ReasonGroup] = []
    scoring: list[PluginWeight] = []
    nodes: NodesExplained = NodesExplained()
    remedies: list[RemedyShown] = []
    no_remedy: str = ""  # why there is none
    chosen: str = ""  # the node with the highest score; one of them, if there are ties
    ties: int = 0
    why_not: str = ""  # for a pod that has a place: what the asked node lacks
