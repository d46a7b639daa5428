"""Every path of the read API with its parameters, its answer, and who may use it; openapi.json is generated from it."""

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
    """A parameter of a query."""

    name: str
    description: str
    kind: Literal["string", "integer", "boolean"] = "string"
    values: Sequence[str] = ()


@dataclass(frozen=True)
class Path:
    """A path and its answer."""

    name: str  # of the method that answers
    path: str
    answer: type[msgspec.Struct] | None  # None for a stream, or an answer that is described elsewhere
    summary: str
    who: str  # the rights that it needs
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
CONTINUE = Parameter("continue", "The token of the previous page.")
PAGED = (LIMIT, CONTINUE)
LIST_PODS = "list pods in the namespace or in all; pods of other namespaces are left out"
GET_PATH = "get on the path"

PATHS: tuple[Path, ...] = (
    Path("access", "/access", answers.Access, "Who you are, and what you may see.", "any authenticated user"),
    Path(
        "overview",
        "/overview",
        answers.Overview,
        "The state of the scheduler, and the most frequent reasons of pending pods.",
        f"{GET_PATH}; reasons and numbers of pods only of namespaces whose pods you may list",
        leader_only=True,
    ),
    Path(
        "queue",
        "/queue",
        answers.Queue,
        "Pending pods, as rows or in groups.",
        LIST_PODS,
        (
            Parameter("groupBy", "Groups instead of rows.", values=[each for each in get_args(GroupBy) if each]),
            Parameter("place", "Only pods in this part of the queue.", values=get_args(Place)),
            NAMESPACE,
            Parameter("profile", "Only pods of this scheduler name."),
            Parameter("plugin", "Only pods rejected by this plugin."),
            Parameter("code", "Only pods with this reason code."),
            Parameter("sort", "The order of rows. Default: since.", values=get_args(Sort)),
            *PAGED,
        ),
        leader_only=True,
    ),
    Path(
        "pod",
        "/pods/{namespace}/{name}",
        answers.PodView,
        "One pod: its place in the queue, its attempts, and why it is pending.",
        "get pods; names of nodes need list nodes",
        leader_only=True,
    ),
    Path(
        "explain",
        "/pods/{namespace}/{name}/explain",
        answers.Explanation,
        "Why a pod fits or does not fit each node, decided now.",
        "get pods; single nodes need list nodes",
        (
            Parameter("nodes", "Single nodes: rejected, fit, or the name of a node. Default: all."),
            Parameter("remedies", "0: do not search for changes that would place the pod.", "boolean"),
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
        "One node: its pods, and the last decisions for it.",
        "get nodes; pods only of namespaces whose pods you may list, the others as one sum",
    ),
    Path(
        "gangs",
        "/gangs",
        answers.Gangs,
        "All gangs and their progress.",
        LIST_PODS,
        (NAMESPACE, *PAGED),
        leader_only=True,
    ),
    Path(
        "gang",
        "/gangs/{namespace}/{name}",
        answers.Gang,
        "One gang with its pending pods.",
        "list pods of the namespace",
        leader_only=True,
    ),
    Path(
        "quotas",
        "/quotas",
        answers.Quotas,
        "All elastic quotas: guaranteed, used, borrowed and lent.",
        f"list {ElasticQuota.api.plural}, of the namespace or of all",
        (NAMESPACE,),
    ),
    Path(
        "profiles",
        "/profiles",
        answers.Profiles,
        "All profiles of this scheduler.",
        "list schedulerprofiles",
    ),
    Path(
        "profile",
        "/profiles/{name}",
        answers.Profile,
        "One profile: its plugins, conditions and replicas.",
        "get schedulerprofiles",
    ),
    Path(
        "profile_diff",
        "/profiles/{name}/diff",
        answers.ProfileDiff,
        "The differences between two specs of a profile.",
        "get schedulerprofiles",
        (
            Parameter("from", "Default: lastGood.", values=("spec", "lastGood")),
            Parameter("to", "Default: spec.", values=("spec", "lastGood")),
        ),
    ),
    Path("plugins", "/plugins", answers.Plugins, "The cost and the failures of plugins.", GET_PATH, leader_only=True),
    Path(
        "decisions",
        "/decisions",
        answers.Decisions,
        "The last decisions, the newest first.",
        LIST_PODS,
        (
            Parameter("since", "The lowest number to include.", "integer"),
            Parameter("node", "Only decisions for this node."),
            Parameter(
                "outcome", "Only decisions with this outcome.", values=[each for each in get_args(OutcomeName) if each]
            ),
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
        "the rights of each topic's own path",
        (Parameter("topics", f"With commas between them: {', '.join(TOPICS)}. Default: queue,decisions."), NAMESPACE),
        leader_only=True,
    ),
    Path(
        "what_if",
        "/what-if",
        None,
        "What would happen with other pods, nodes, quotas or profiles.",
        "create on the path, list pods of the namespaces that it names, and list nodes if it changes nodes",
        method="POST",
    ),
    Path("openapi", "/openapi.json", None, "This description.", "any authenticated user"),
)


def template_of(path: str) -> str:
    """Return the path of the table that a request is for, or "other"."""
    return next((each.path for each in PATHS if each.match(path) is not None), "other")
