"""Every path of the read API: what it answers, what it can be asked, and who may ask. The description is made of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import msgspec

from pilotage.kinds.elastic_quota import ElasticQuota
from pilotage.views import answers
from pilotage.views.answers import PREFIX, Place
from pilotage.views.decisions import OutcomeName
from pilotage.views.queue import GroupBy, Sort

MOST, USUAL = 500, 100  # items of a page
TOPICS = ("queue", "decisions", "nodes", "profiles")


@dataclass(frozen=True)
class Parameter:
    """One thing that can be said in a query."""

    name: str
    description: str
    kind: Literal["string", "integer", "boolean"] = "string"
    values: Sequence[str] = ()


@dataclass(frozen=True)
class Path:
    """A path, and what it answers."""

    name: str  # of the method that answers
    path: str
    answer: type[msgspec.Struct] | None  # None for a stream, or what another part answers
    summary: str
    who: str  # may ask
    parameters: Sequence[Parameter] = ()
    leader_only: bool = False
    method: str = "GET"

    def match(self, path: str) -> dict[str, str] | None:
        """Return the values of the parts in braces; None if it is another path."""
        given, own = path.removeprefix(PREFIX).split("/"), self.path.split("/")
        if not path.startswith(PREFIX) or len(given) != len(own):
            return None
        found = {}
        for value, part in zip(given, own, strict=True):
            if part.startswith("{"):
                found[part[1:-1]] = value
            elif part != value:
                return None
        return found if all(found.values()) else None


NAMESPACE = Parameter("namespace", "Only this namespace.")
LIMIT = Parameter("limit", f"Items of a page, 1 to {MOST}. Default: {USUAL}.", "integer")
CONTINUE = Parameter("continue", "The token of the page before.")
PAGED = (LIMIT, CONTINUE)
LIST_PODS = "list pods, of the namespace or of all; of all others nothing is shown"
GET_PATH = "get on the path"

PATHS: tuple[Path, ...] = (
    Path("access", "/access", answers.Access, "Who you are, and what you may see.", "whoever is authenticated"),
    Path(
        "overview",
        "/overview",
        answers.Overview,
        "Whether all is well, and what hurts most.",
        f"{GET_PATH}; reasons and numbers of pods only of namespaces whose pods you may list",
        leader_only=True,
    ),
    Path(
        "queue",
        "/queue",
        answers.Queue,
        "Who waits: rows, or groups of pods that have something in common.",
        LIST_PODS,
        (
            Parameter("groupBy", "Groups instead of rows.", values=[each for each in get_args(GroupBy) if each]),
            Parameter("place", "Only pods in this place.", values=get_args(Place)),
            NAMESPACE,
            Parameter("profile", "Only pods of this scheduler name."),
            Parameter("plugin", "Only pods that this plugin turned down."),
            Parameter("code", "Only pods with this code of a reason."),
            Parameter("sort", "The order of rows. Default: since.", values=get_args(Sort)),
            *PAGED,
        ),
        leader_only=True,
    ),
    Path(
        "pod",
        "/pods/{namespace}/{name}",
        answers.PodView,
        "What is known of a pod: its place, its attempts, why it waits.",
        "get pods; names of nodes need list nodes",
        leader_only=True,
    ),
    Path(
        "explain",
        "/pods/{namespace}/{name}/explain",
        answers.Explanation,
        "Why a pod goes where it goes, or nowhere, as it would be decided now.",
        "get pods; nodes one by one need list nodes",
        (
            Parameter("nodes", "Nodes one by one: rejected, fit, or the name of one. Default: all."),
            Parameter("remedies", "With 0, changes that would place the pod are not looked for.", "boolean"),
            LIMIT,
            CONTINUE,
        ),
    ),
    Path(
        "nodes",
        "/nodes",
        answers.NodeTable,
        "All nodes as parallel arrays, or a page of them as rows.",
        "list nodes",
        (
            Parameter("columns", "Resources, with commas between them. Default: all, 16 at most."),
            Parameter("format", "Default: columns.", values=("columns", "rows")),
            *PAGED,
        ),
    ),
    Path(
        "node",
        "/nodes/{name}",
        answers.NodeView,
        "One node, who is on it, and the last decisions for it.",
        "get nodes; pods only of namespaces whose pods you may list, the others as one sum",
    ),
    Path(
        "gangs",
        "/gangs",
        answers.Gangs,
        "All gangs, and how far each is.",
        LIST_PODS,
        (NAMESPACE, *PAGED),
        leader_only=True,
    ),
    Path(
        "gang",
        "/gangs/{namespace}/{name}",
        answers.Gang,
        "One gang with its pods that wait.",
        "list pods of the namespace",
        leader_only=True,
    ),
    Path(
        "quotas",
        "/quotas",
        answers.Quotas,
        "All elastic quotas: what is promised, used, borrowed and lent.",
        f"list {ElasticQuota.api.plural}, of the namespace or of all",
        (NAMESPACE,),
    ),
    Path(
        "profiles",
        "/profiles",
        answers.Profiles,
        "All profiles that run here.",
        "list schedulerprofiles",
    ),
    Path(
        "profile",
        "/profiles/{name}",
        answers.Profile,
        "One profile: its plugins and its conditions.",
        "get schedulerprofiles",
    ),
    Path(
        "profile_diff",
        "/profiles/{name}/diff",
        answers.ProfileDiff,
        "What two specs of a profile do differently.",
        "get schedulerprofiles",
        (
            Parameter("from", "Default: lastGood.", values=("spec", "lastGood")),
            Parameter("to", "Default: spec.", values=("spec", "lastGood")),
        ),
    ),
    Path("plugins", "/plugins", answers.Plugins, "What plugins cost, and which fail.", GET_PATH, leader_only=True),
    Path(
        "decisions",
        "/decisions",
        answers.Decisions,
        "The last decisions, the newest first.",
        LIST_PODS,
        (
            Parameter("since", "A number of a decision: only this one and later ones.", "integer"),
            Parameter("node", "Only decisions for this node."),
            Parameter("outcome", "Only these.", values=[each for each in get_args(OutcomeName) if each]),
            Parameter("profile", "Only pods of this scheduler name."),
            NAMESPACE,
            *PAGED,
        ),
        leader_only=True,
    ),
    Path(
        "events",
        "/events",
        None,
        "Changes as server-sent events: hello, then batches by topic every half second, or resync.",
        "what each topic's own path asks for",
        (Parameter("topics", f"With commas between them: {', '.join(TOPICS)}. Default: queue,decisions."), NAMESPACE),
        leader_only=True,
    ),
    Path(
        "what_if",
        "/what-if",
        None,
        "What would happen if.",
        "create on the path, list pods of the namespaces that it names, and list nodes if it changes nodes",
        method="POST",
    ),
    Path("openapi", "/openapi.json", None, "This description.", "whoever is authenticated"),
)


def template_of(path: str) -> str:
    """Return the path of the table that a request is for, or "other"."""
    return next((each.path for each in PATHS if each.match(path) is not None), "other")
