"""The plugin base classes: a plugin is one class; its bases are its extension points, its fields are its arguments."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self, dataclass_transform

import numpy as np
from pydantic import Field

from pilotage.config.catalogue import Arguments as ReadArguments
from pilotage.config.catalogue import ExtensionPoint
from pilotage.config.documents import At
from pilotage.config.faults import Fault, Stage
from pilotage.config.strict_reading import read_section
from pilotage.framework.api.arguments import Arguments, arguments_of
from pilotage.framework.api.caching import Caching, Per, Scope
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.events import ANYTHING, Retry
from pilotage.framework.api.handle import NOT_STARTED, Handle
from pilotage.framework.api.nodes import Ints, NodeInfo, Nodes
from pilotage.framework.api.objects import Kind
from pilotage.framework.api.remedies import Remedy
from pilotage.framework.api.verdicts import (
    Filtered,
    Nominated,
    NoRoom,
    PluginFailed,
    PreFiltered,
    Rejection,
    Skip,
    Verdicts,
    Wait,
)
from pilotage.model.outside_services import Service
from pilotage.model.pod import Pod

# Plugin files older than `pilotage.plugin` import them from here.
STATIC, NODE, CLUSTER = Scope.STATIC, Scope.NODE, Scope.CLUSTER


@dataclass(frozen=True, slots=True)
class Permission:
    """A permission that a plugin needs in the cluster."""

    group: str
    resource: str
    verbs: tuple[str, ...]


@dataclass_transform(kw_only_default=True, field_specifiers=(Field,))
class Plugin:
    """A piece of policy, named after its class, with its fields as arguments and its docstring as description."""

    name: ClassVar[str]
    # All arguments: a nested class of this name, or created from the annotated fields.
    Args: ClassVar[type[Arguments]] = Arguments
    # What results depend on, and so how long they are cached; `depends_on` and `same_for_shape` are older forms of it.
    caching: ClassVar[Caching] = Caching()
    depends_on: ClassVar[Scope] = CLUSTER
    same_for_shape: ClassVar[bool] = False
    retry_on: ClassVar[tuple[Retry, ...]] = (ANYTHING,)
    # Cached results are also dropped when an object of these kinds changes.
    reads: ClassVar[tuple[type[Kind], ...]] = ()
    # The plugin neither scores nor reserves for a pod that pre_filter skips, so it is not called then.
    idle_when_skipped: ClassVar[bool] = False
    permissions: ClassVar[tuple[Permission, ...]] = ()
    # kube-scheduler's error if its plugin of this name is constructed without arguments, not even defaults.
    no_arguments: ClassVar[str] = "want args to be of type {}Args, got <nil>"
    _fields: ClassVar[frozenset[str]] = frozenset()  # arguments that are attributes, too

    args: Arguments
    handle: Handle  # everything outside of a cycle; without a cluster before `start`

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Name the plugin after its class, and read the declarations of the class."""
        super().__init_subclass__(**kwargs)
        cls.name = cls.__name__
        plugins = [base for base in cls.__bases__ if issubclass(base, Plugin)]
        cls.Args, fields = arguments_of(cls, [base.Args for base in plugins])
        cls._fields = fields.union(*(base._fields for base in plugins))
        cls._settle_caching()

    @classmethod
    def _settle_caching(cls) -> None:
        """Keep one declaration and its two older forms consistent."""
        declared = vars(cls)
        if isinstance(declared.get("caching"), Caching):
            cls.depends_on, cls.same_for_shape = cls.caching.scope, cls.caching.per is Per.SHAPE
        elif "caching" not in declared:
            cls.caching = Caching(cls.depends_on, Per.SHAPE if cls.same_for_shape else Per.POD)

    def __init__(self, **arguments: Any) -> None:
        given = arguments.get("args")
        self.args = given if isinstance(given, self.Args) else self.Args(**arguments)
        self.handle = NOT_STARTED
        for name in self._fields:
            setattr(self, name, getattr(self.args, name))
        self.__post_init__()

    def __post_init__(self) -> None:
        """Initialize the plugin's state; its arguments are set."""

    def __repr__(self) -> str:
        return f"{self.name}({self.args!s})"

    @classmethod
    def of(cls, given: Mapping[str, Any] | Arguments) -> Self:
        """Return the plugin with arguments, given by their names in a configuration or as one object."""
        return cls(args=given if isinstance(given, Arguments) else cls.Args.model_validate(given))

    @classmethod
    def points(cls) -> frozenset[ExtensionPoint]:
        """Return the plugin's extension points."""
        return frozenset(point for point, base in POINTS.items() if issubclass(cls, base))

    @classmethod
    def read_arguments(cls, given: Mapping[str, Any] | None, at: At) -> ReadArguments:
        """Return the arguments with defaults, and all errors in them."""
        if given is None:
            return ReadArguments({}, (Fault(Stage.PROFILES, cls.no_arguments.format(cls.name), at),))
        args, faults = read_section(cls.Args, given, at)
        if args is None:
            return ReadArguments(dict(given), tuple(faults))
        return ReadArguments(args.model_dump(mode="json", by_alias=True), (*faults, *cls(args=args).faults(at)))

    def start(self, handle: Handle) -> None:
        """Receive the handle for everything outside of a cycle; called once, before any other method."""
        self.handle = handle

    def epoch(self, cycle: Cycle) -> int:
        """Return a number that changes when results for unchanged nodes may differ."""
        return 0

    def faults(self, at: At) -> list[Fault]:
        """Return the errors in arguments that have valid types."""
        return []

    def remark(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> str:
        """Return a short explanation of the plugin's rejection of a node, for people only."""
        return ""

    def remedies(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Iterable[Remedy]:
        """Return changes that would make the plugin accept the pod on some of these nodes, which only it rejects.

        The `difference` of each is the changed state of the cluster; the engine tries it before the remedy is shown.
        """
        return ()

    def needed(self) -> tuple[Permission, ...]:
        """Return the permissions that the plugin needs with these arguments."""
        return self.permissions


class QueuedPod(Protocol):
    """A pod in the queue, as QueueSort plugins see it."""

    pod: Pod
    timestamp: float  # when it entered the queue, or returned to it


class PreEnqueue(Plugin):
    """Keeps pods out of the queue until they are ready."""

    # The code that opens the gate notifies the queue (`gate_opens`), so that events need not be matched with the pod.
    reports_opening: ClassVar[bool] = False

    def pre_enqueue(self, pod: Pod) -> Filtered:
        """Return why the pod must wait, or None."""
        raise NotImplementedError


class QueueSort(Plugin):
    """Sorts the queue."""

    def less(self, one: QueuedPod, other: QueuedPod) -> bool:
        """Return whether the first pod goes before the second."""
        raise NotImplementedError


class PreFilter(Plugin):
    """Evaluates a pod once, before any node."""

    def pre_filter(self, cycle: Cycle, pod: Pod) -> PreFiltered:
        """Compute what filtering needs; SKIP if there is nothing to filter, a Rejection if no node fits.

        SKIP_SHAPE means that there is never anything to filter for pods of this shape, and saves further calls.
        """
        raise NotImplementedError

    def add_pod(self, cycle: Cycle, pod: Pod, other: Pod, node: NodeInfo) -> None:
        """Update the notes as if another pod were on the node."""

    def remove_pod(self, cycle: Cycle, pod: Pod, other: Pod, node: NodeInfo) -> None:
        """Update the notes as if a pod were not on the node."""


class Filter(Plugin):
    """Decides on which nodes a pod can run."""

    def filter(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> Filtered:
        """Return why the pod cannot run on the node, or None."""
        raise NotImplementedError

    def filter_nodes(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Verdicts:
        """Return the same for many nodes; plugins that are called often should use arrays."""
        rejections: dict[Rejection, int] = {}
        codes = np.zeros(len(nodes), np.uint16)
        for place, node in enumerate(nodes):
            if (rejection := self.filter(cycle, pod, node)) is not None:
                codes[place] = rejections.setdefault(rejection, len(rejections) + 1)
        return Verdicts(codes, list(rejections))


class PostFilter(Plugin):
    """Preempts for a pod that fits no node."""

    def post_filter(self, cycle: Cycle, pod: Pod, verdicts: Verdicts) -> Nominated | NoRoom:
        """Return the nominated node and the victims; the verdicts cover all of `cycle.nodes`."""
        raise NotImplementedError


class PreScore(Plugin):
    """Evaluates the feasible nodes once, before they are scored."""

    def pre_score(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Skip | None:
        """Compute what scoring needs; SKIP to score no node."""
        raise NotImplementedError


class Score(Plugin):
    """Decides which nodes a pod prefers."""

    def score(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> int:
        """Return the node's score, from 0 to 100 unless `normalize` scales it."""
        raise NotImplementedError

    def score_nodes(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Ints | int:
        """Return the same for many nodes; a single number applies to all."""
        return np.fromiter((_whole(self.score(cycle, pod, node)) for node in nodes), np.int64, len(nodes))

    # Scales the scores of all feasible nodes to 0..100: (cycle, pod, nodes, scores) -> scores.
    normalize: ClassVar[Any] = None


def nothing_to_note(plugin: Plugin, cycle: Cycle, pod: Pod, nodes: Nodes | None = None) -> None:
    """A `pre_filter` or `pre_score` without notes, which need not be called."""


def _whole(score: object) -> int:
    if not isinstance(score, int | np.integer):
        raise PluginFailed(f"it returned {type(score).__name__} {score!r:.80}, which is not a whole number")
    return int(score)


class Reserve(Plugin):
    """Reserves resources for a pod whose node has been chosen."""

    def reserve(self, cycle: Cycle, pod: Pod, node: str) -> Filtered:
        """Reserve what the pod needs, or return why it cannot be reserved."""
        raise NotImplementedError

    def unreserve(self, cycle: Cycle, pod: Pod, node: str) -> None:
        """Release the reservation; also called if nothing was reserved."""


class Permit(Plugin):
    """Decides when a pod may be bound."""

    def permit(self, cycle: Cycle, pod: Pod, node: str) -> Rejection | Wait | None:
        """Return None to approve the pod, a Wait to hold it, a Rejection to reject it."""
        raise NotImplementedError


class PreBind(Plugin):
    """Does work, such as provisioning volumes, before a pod is bound."""

    def pre_bind_pre_flight(self, cycle: Cycle, pod: Pod, node: str) -> Skip | None:
        """Return SKIP if there is nothing to prepare."""
        return None

    async def pre_bind(self, cycle: Cycle, pod: Pod, node: str) -> Filtered:
        """Prepare the bind, or return why that is not possible."""
        raise NotImplementedError


class Bind(Plugin):
    """Binds a pod to its node."""

    async def bind(self, cycle: Cycle, pod: Pod, node: str) -> Rejection | Skip | None:
        """Bind the pod, or return why that is not possible; SKIP leaves it to the next plugin."""
        raise NotImplementedError


class PostBind(Plugin):
    """Is notified when a pod has been bound."""

    def post_bind(self, cycle: Cycle, pod: Pod, node: str) -> None:
        """Record it."""
        raise NotImplementedError


class FollowsPods(Plugin):
    """Keeps its own account of placed pods; not an extension point, so profiles do not list it."""

    def pod_placed(self, pod: Pod) -> None:
        """Record a pod that was placed on the node that it names, bound or about to be.

        Also called for every pod that is already placed when the plugin starts. For a changed pod, `pod_left` and
        `pod_placed` are called in a row.
        """
        raise NotImplementedError

    def pod_left(self, pod: Pod) -> None:
        """Remove a pod, given as it was placed."""
        raise NotImplementedError


class EvictionRule(Plugin):
    """Restricts evictions by all plugins; not an extension point, so profiles do not list it."""

    def may_evict(self, cycle: Cycle, pod: Pod, victim: Pod) -> bool:
        """Return whether the victim may be evicted for the pod; the notes are without earlier victims."""
        raise NotImplementedError

    def objection(self, cycle: Cycle, pod: Pod) -> Rejection | None:
        """Return why the pod could not be placed even after the evictions that the notes reflect, or None."""
        return None

    def enough_leave(self, cycle: Cycle, pod: Pod, verdicts: Verdicts) -> Nominated | NoRoom | None:
        """Return why terminating pods free enough, or None; called before any plugin preempts.

        A node may be nominated for the pod, without victims.
        """
        return None

    def spares(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> str:
        """Return a short text about the pods that it spares on a node for now, for people only."""
        return ""

    def evictions_began(self, preemptor: Pod, victims: Sequence[Pod]) -> None:
        """Record the pods that are being evicted for another pod, by any plugin of any profile."""

    def evictions_cancelled(self, victims: Sequence[Pod]) -> None:
        """Record pods that stay: they could not be evicted, or were requeued immediately."""


class ConcludesInMemory(Plugin):
    """Prepares binds by changing claims; a simulation does not call `pre_bind`, and asks for its effect instead."""

    def concluded(self, cycle: Cycle, pod: Pod) -> Sequence[Kind]:
        """Return the pod's claims as `pre_bind` would leave them, and forget that they are reserved."""
        raise NotImplementedError


class UsesLoad(Plugin):
    """Uses load metrics from `handle.load`; not an extension point, so profiles do not list it."""

    def service(self) -> tuple[At, Service] | None:
        """Return the service to call besides the API server, and the argument that names it; or None."""
        return None


class PlacementScore(Plugin):
    """Scores placements of a group of pods; kept for configurations that name it."""


class PodGroupPostFilter(Plugin):
    """Preempts for a group of pods; kept for configurations that name it."""


POINTS: dict[ExtensionPoint, type[Plugin]] = {
    ExtensionPoint.PRE_ENQUEUE: PreEnqueue,
    ExtensionPoint.QUEUE_SORT: QueueSort,
    ExtensionPoint.PRE_FILTER: PreFilter,
    ExtensionPoint.FILTER: Filter,
    ExtensionPoint.POST_FILTER: PostFilter,
    ExtensionPoint.PRE_SCORE: PreScore,
    ExtensionPoint.SCORE: Score,
    ExtensionPoint.RESERVE: Reserve,
    ExtensionPoint.PERMIT: Permit,
    ExtensionPoint.PRE_BIND: PreBind,
    ExtensionPoint.BIND: Bind,
    ExtensionPoint.POST_BIND: PostBind,
    ExtensionPoint.PLACEMENT_SCORE: PlacementScore,
    ExtensionPoint.POD_GROUP_POST_FILTER: PodGroupPostFilter,
}
