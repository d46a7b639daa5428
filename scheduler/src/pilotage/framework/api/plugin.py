"""What a plugin is: one class, whose bases are its extension points and whose fields are its arguments."""

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
    """A piece of policy; its name is its class name, its arguments are its fields, its docstring its description."""

    name: ClassVar[str]
    # All arguments: a nested class of this name, or made of the annotated fields.
    Args: ClassVar[type[Arguments]] = Arguments
    # What results depend on, and so how long they are cached; `depends_on` and `same_for_shape` say the same.
    caching: ClassVar[Caching] = Caching()
    depends_on: ClassVar[Scope] = CLUSTER
    same_for_shape: ClassVar[bool] = False
    retry_on: ClassVar[tuple[Retry, ...]] = (ANYTHING,)
    # Cached results are dropped when one of these objects changes, whatever they depend on.
    reads: ClassVar[tuple[type[Kind], ...]] = ()
    # For a pod that pre_filter skips, the plugin neither scores nor reserves: it need not be called then.
    idle_when_skipped: ClassVar[bool] = False
    permissions: ClassVar[tuple[Permission, ...]] = ()
    # The error of kube-scheduler's plugin of this name when it is constructed without even its defaults.
    no_arguments: ClassVar[str] = "want args to be of type {}Args, got <nil>"
    _fields: ClassVar[frozenset[str]] = frozenset()  # arguments that are attributes, too

    args: Arguments
    handle: Handle  # everything outside of a cycle: nothing before `start`

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Name the plugin after its class, and read what the class declares."""
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
        """Return the plugin with arguments, by their names in a configuration or all in one."""
        return cls(args=given if isinstance(given, Arguments) else cls.Args.model_validate(given))

    @classmethod
    def points(cls) -> frozenset[ExtensionPoint]:
        """Return the plugin's extension points."""
        return frozenset(point for point, base in POINTS.items() if issubclass(cls, base))

    @classmethod
    def read_arguments(cls, given: Mapping[str, Any] | None, at: At) -> ReadArguments:
        """Return the arguments with defaults, and everything that is wrong with them."""
        if given is None:
            return ReadArguments({}, (Fault(Stage.PROFILES, cls.no_arguments.format(cls.name), at),))
        args, faults = read_section(cls.Args, given, at)
        if args is None:
            return ReadArguments(dict(given), tuple(faults))
        return ReadArguments(args.model_dump(mode="json", by_alias=True), (*faults, *cls(args=args).faults(at)))

    def start(self, handle: Handle) -> None:
        """Receive the handle of everything outside of a cycle; called once, before all else."""
        self.handle = handle

    def epoch(self, cycle: Cycle) -> int:
        """Return a number that changes when results for unchanged nodes may differ."""
        return 0

    def faults(self, at: At) -> list[Fault]:
        """Return what is wrong with arguments of the right types."""
        return []

    def remark(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> str:
        """Return a short explanation of the plugin's rejection of a node, for people only."""
        return ""

    def remedies(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Iterable[Remedy]:
        """Return what would make the plugin accept the pod on some of these nodes, which it alone rejects.

        The `difference` of each says what would change; the engine tries that before the remedy is shown.
        """
        return ()

    def needed(self) -> tuple[Permission, ...]:
        """Return the permissions that are needed with these arguments."""
        return self.permissions


class QueuedPod(Protocol):
    """A pod in the queue, as a sorting plugin sees it."""

    pod: Pod
    timestamp: float  # when it entered the queue, or returned to it


class PreEnqueue(Plugin):
    """Keeps pods out of the queue until they are ready."""

    # The code that opens the gate tells the queue (`gate_opens`), so that events are not matched with the pod before.
    tells_when_open: ClassVar[bool] = False

    def pre_enqueue(self, pod: Pod) -> Filtered:
        """Return why the pod must wait, or None."""
        raise NotImplementedError


class QueueSort(Plugin):
    """Sorts the queue."""

    def less(self, one: QueuedPod, other: QueuedPod) -> bool:
        """Return whether the first pod goes before the second."""
        raise NotImplementedError


class PreFilter(Plugin):
    """Looks at a pod once, before any node."""

    def pre_filter(self, cycle: Cycle, pod: Pod) -> PreFiltered:
        """Note down what filtering needs; SKIP if there is nothing to filter, a Rejection if no node fits.

        SKIP_SHAPE means that there never is for pods of this shape, and saves further calls.
        """
        raise NotImplementedError

    def add_pod(self, cycle: Cycle, pod: Pod, other: Pod, node: NodeInfo) -> None:
        """Change the notes as if another pod were on the node too."""

    def remove_pod(self, cycle: Cycle, pod: Pod, other: Pod, node: NodeInfo) -> None:
        """Change the notes as if another pod were not on the node."""


class Filter(Plugin):
    """Says where a pod could run."""

    def filter(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> Filtered:
        """Return why the pod cannot run on the node, or None."""
        raise NotImplementedError

    def filter_nodes(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Verdicts:
        """Return the same for many nodes; a plugin that is called often does it with arrays."""
        rejections: dict[Rejection, int] = {}
        codes = np.zeros(len(nodes), np.uint16)
        for place, node in enumerate(nodes):
            if (rejection := self.filter(cycle, pod, node)) is not None:
                codes[place] = rejections.setdefault(rejection, len(rejections) + 1)
        return Verdicts(codes, list(rejections))


class PostFilter(Plugin):
    """Makes room for a pod that fits nowhere."""

    def post_filter(self, cycle: Cycle, pod: Pod, verdicts: Verdicts) -> Nominated | NoRoom:
        """Return the nominated node and the victims; the verdicts are those about all of `cycle.nodes`."""
        raise NotImplementedError


class PreScore(Plugin):
    """Looks at the nodes that are left, once, before they are scored."""

    def pre_score(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Skip | None:
        """Note down what scoring needs; SKIP to score no node."""
        raise NotImplementedError


class Score(Plugin):
    """Says where a pod should run."""

    def score(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> int:
        """Return the node's score, from 0 to 100 unless `normalize` scales it."""
        raise NotImplementedError

    def score_nodes(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Ints | int:
        """Return the same for many nodes; one number stands for all."""
        return np.fromiter((_whole(self.score(cycle, pod, node)) for node in nodes), np.int64, len(nodes))

    # Brings the scores of all nodes that are left to 0..100: (cycle, pod, nodes, scores) -> scores.
    normalize: ClassVar[Any] = None


def nothing_to_note(plugin: Plugin, cycle: Cycle, pod: Pod, nodes: Nodes | None = None) -> None:
    """Implement the point without notes: a `pre_filter` or `pre_score` that need not be called."""


def _whole(score: object) -> int:
    if not isinstance(score, int | np.integer):
        raise PluginFailed(f"it returned {type(score).__name__} {score!r:.80}, which is not a whole number")
    return int(score)


class Reserve(Plugin):
    """Reserves something for a pod that got its node."""

    def reserve(self, cycle: Cycle, pod: Pod, node: str) -> Filtered:
        """Reserve what the pod needs, or return why that is impossible."""
        raise NotImplementedError

    def unreserve(self, cycle: Cycle, pod: Pod, node: str) -> None:
        """Release it; also called when nothing was reserved."""


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
        """Prepare, or return why that is impossible."""
        raise NotImplementedError


class Bind(Plugin):
    """Binds a pod to its node."""

    async def bind(self, cycle: Cycle, pod: Pod, node: str) -> Rejection | Skip | None:
        """Bind the pod, or return why that is impossible; SKIP leaves it to the next plugin."""
        raise NotImplementedError


class PostBind(Plugin):
    """Is informed that a pod was bound."""

    def post_bind(self, cycle: Cycle, pod: Pod, node: str) -> None:
        """Record it."""
        raise NotImplementedError


class FollowsPods(Plugin):
    """Keeps its own account of placed pods; not an extension point, so profiles do not list it."""

    def pod_placed(self, pod: Pod) -> None:
        """Add a pod that counts on the node that it names from now on, bound or about to be.

        Also called for every pod that is already placed when the plugin starts. A pod that changes leaves and is placed
        again, all before anything else happens.
        """
        raise NotImplementedError

    def pod_left(self, pod: Pod) -> None:
        """Remove a pod, as it was placed."""
        raise NotImplementedError


class EvictionRule(Plugin):
    """Restricts which pods are evicted, whichever plugin evicts; not an extension point, so profiles do not list it."""

    def may_evict(self, cycle: Cycle, pod: Pod, victim: Pod) -> bool:
        """Return whether the victim may be evicted for the pod; the notes are as if earlier victims were gone."""
        raise NotImplementedError

    def objection(self, cycle: Cycle, pod: Pod) -> Rejection | None:
        """Return why the pod could not be placed even after the evictions in the notes, or None."""
        return None

    def enough_leave(self, cycle: Cycle, pod: Pod, verdicts: Verdicts) -> Nominated | NoRoom | None:
        """Return why terminating pods make enough room, or None; called before any plugin makes room.

        A node may be nominated for the pod, without victims.
        """
        return None

    def spares(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> str:
        """Return in a few words which pods it spares on a node for now, for people only."""
        return ""

    def evictions_began(self, preemptor: Pod, victims: Sequence[Pod]) -> None:
        """Record pods that are being evicted for another one, by whichever plugin and profile."""

    def called_off(self, victims: Sequence[Pod]) -> None:
        """Record pods that stay: they could not be evicted, or are back in the queue at once."""


class UsesLoad(Plugin):
    """Uses load metrics from `handle.load`; not an extension point, so profiles do not list it."""

    def service(self) -> tuple[At, Service] | None:
        """Return the service to call besides the API server, and the argument that names it; None: none."""
        return None


class PlacementScore(Plugin):
    """Scores placements of a whole group of pods; kept for configurations that name it."""


class PodGroupPostFilter(Plugin):
    """Makes room for a whole group of pods; kept for configurations that name it."""


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
