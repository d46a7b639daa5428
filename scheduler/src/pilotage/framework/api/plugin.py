"""What a plugin is: one class, whose bases say where it takes part and whose fields are its arguments."""

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

# Plugin files that were written before `pilotage.plugin` take them from here.
STATIC, NODE, CLUSTER = Scope.STATIC, Scope.NODE, Scope.CLUSTER


@dataclass(frozen=True, slots=True)
class Permission:
    """What a plugin must be allowed to do in the cluster."""

    group: str
    resource: str
    verbs: tuple[str, ...]


@dataclass_transform(kw_only_default=True, field_specifiers=(Field,))
class Plugin:
    """A piece of policy; its name is its class name, its arguments are its fields, its docstring its description."""

    name: ClassVar[str]
    # All arguments: a nested class of this name, or made of the annotated fields.
    Args: ClassVar[type[Arguments]] = Arguments
    # What answers depend on, and so how long they are remembered; `depends_on` and `same_for_shape` say the same.
    caching: ClassVar[Caching] = Caching()
    depends_on: ClassVar[Scope] = CLUSTER
    same_for_shape: ClassVar[bool] = False
    retry_on: ClassVar[tuple[Retry, ...]] = (ANYTHING,)
    # Answers are asked anew when one of these objects changes, whatever they depend on.
    reads: ClassVar[tuple[type[Kind], ...]] = ()
    # A pod that pre_filter skips gets no scores from the plugin and nothing reserved: it need not be asked then.
    idle_when_skipped: ClassVar[bool] = False
    permissions: ClassVar[tuple[Permission, ...]] = ()
    # What kube-scheduler's plugin of this name says when it is made without even its defaults.
    no_arguments: ClassVar[str] = "want args to be of type {}Args, got <nil>"
    _fields: ClassVar[frozenset[str]] = frozenset()  # arguments that are attributes, too

    args: Arguments
    handle: Handle  # what there is outside of a cycle: nothing before `start`

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
        """Let one declaration say what two older ones say, and the other way round."""
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
        """Make what the plugin keeps; its arguments are there."""

    def __repr__(self) -> str:
        return f"{self.name}({self.args!s})"

    @classmethod
    def of(cls, given: Mapping[str, Any] | Arguments) -> Self:
        """Return the plugin with arguments, by the names that a configuration has for them or all in one."""
        return cls(args=given if isinstance(given, Arguments) else cls.Args.model_validate(given))

    @classmethod
    def points(cls) -> frozenset[ExtensionPoint]:
        """Return where the plugin takes part."""
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
        """Take what there is outside of a cycle, which knows more; called once, before all else."""
        self.handle = handle

    def epoch(self, cycle: Cycle) -> int:
        """Return a number that changes when answers about nodes that did not change may differ all the same."""
        return 0

    def faults(self, at: At) -> list[Fault]:
        """Return what is wrong with arguments whose types are right."""
        return []

    def remark(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> str:
        """Return in few words what is behind the plugin's rejection of a node; people alone ask, and see it."""
        return ""

    def remedies(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Iterable[Remedy]:
        """Return what would make the plugin accept the pod on some of these nodes, which it alone rejects.

        Each says in its `difference` how things would be; the engine tries that before anybody sees the remedy.
        """
        return ()

    def needed(self) -> tuple[Permission, ...]:
        """Return those of the permissions that are used with these arguments."""
        return self.permissions


class QueuedPod(Protocol):
    """A pod in the queue, as a sorting plugin sees it."""

    pod: Pod
    timestamp: float  # when it came into the queue, or came back


class PreEnqueue(Plugin):
    """Keeps pods out of the queue until they are ready."""

    # Whoever lets the pod in tells the queue (`gate_opens`), so that events need not ask about the pod before that.
    tells_when_open: ClassVar[bool] = False

    def pre_enqueue(self, pod: Pod) -> Filtered:
        """Return why the pod must wait, or None."""
        raise NotImplementedError


class QueueSort(Plugin):
    """Decides who is next."""

    def less(self, one: QueuedPod, other: QueuedPod) -> bool:
        """Tell whether one goes before the other."""
        raise NotImplementedError


class PreFilter(Plugin):
    """Looks at a pod once, before any node."""

    def pre_filter(self, cycle: Cycle, pod: Pod) -> PreFiltered:
        """Note down what filtering needs; SKIP if there is nothing to filter, a Rejection if no node can do.

        SKIP_SHAPE says that there never is for pods of this shape, and saves the question.
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
        """Return the same for many nodes; a plugin that is asked often does it with arrays."""
        rejections: dict[Rejection, int] = {}
        codes = np.zeros(len(nodes), np.uint16)
        for place, node in enumerate(nodes):
            if (rejection := self.filter(cycle, pod, node)) is not None:
                codes[place] = rejections.setdefault(rejection, len(rejections) + 1)
        return Verdicts(codes, list(rejections))


class PostFilter(Plugin):
    """Makes room for a pod that fits nowhere."""

    def post_filter(self, cycle: Cycle, pod: Pod, verdicts: Verdicts) -> Nominated | NoRoom:
        """Return where the pod will fit and at whose expense; the verdicts are those about all of `cycle.nodes`."""
        raise NotImplementedError


class PreScore(Plugin):
    """Looks at the nodes that are left, once, before they are scored."""

    def pre_score(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Skip | None:
        """Note down what scoring needs; SKIP if no node is to be preferred."""
        raise NotImplementedError


class Score(Plugin):
    """Says where a pod should run."""

    def score(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> int:
        """Return how good the node is, from 0 to 100 unless `normalize` brings it there."""
        raise NotImplementedError

    def score_nodes(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Ints | int:
        """Return the same for many nodes; one number stands for all."""
        return np.fromiter((_whole(self.score(cycle, pod, node)) for node in nodes), np.int64, len(nodes))

    # Brings the scores of all nodes that are left to 0..100: (cycle, pod, nodes, scores) -> scores.
    normalize: ClassVar[Any] = None


def nothing_to_note(plugin: Plugin, cycle: Cycle, pod: Pod, nodes: Nodes | None = None) -> None:
    """Take part and note nothing: a `pre_filter` or `pre_score` that nobody has to call."""


def _whole(score: object) -> int:
    if not isinstance(score, int | np.integer):
        raise PluginFailed(f"it answered {type(score).__name__} {score!r:.80}, which is no whole number")
    return int(score)


class Reserve(Plugin):
    """Holds something for a pod that has got its node."""

    def reserve(self, cycle: Cycle, pod: Pod, node: str) -> Filtered:
        """Hold what the pod needs, or return why that is impossible."""
        raise NotImplementedError

    def unreserve(self, cycle: Cycle, pod: Pod, node: str) -> None:
        """Let go of it; also called when nothing was held."""


class Permit(Plugin):
    """Decides when a pod may take its place."""

    def permit(self, cycle: Cycle, pod: Pod, node: str) -> Rejection | Wait | None:
        """Return None to let the pod go, a Wait to hold it, a Rejection to send it back."""
        raise NotImplementedError


class PreBind(Plugin):
    """Prepares a node, outside of the pod, before the pod is bound."""

    def pre_bind_pre_flight(self, cycle: Cycle, pod: Pod, node: str) -> Skip | None:
        """Return SKIP if there is nothing to prepare."""
        return None

    async def pre_bind(self, cycle: Cycle, pod: Pod, node: str) -> Filtered:
        """Prepare, or return why that is impossible."""
        raise NotImplementedError


class Bind(Plugin):
    """Tells the API server where the pod goes."""

    async def bind(self, cycle: Cycle, pod: Pod, node: str) -> Rejection | Skip | None:
        """Bind the pod, or return why that is impossible; SKIP leaves it to the next plugin."""
        raise NotImplementedError


class PostBind(Plugin):
    """Learns that a pod was bound."""

    def post_bind(self, cycle: Cycle, pod: Pod, node: str) -> None:
        """Take note."""
        raise NotImplementedError


class FollowsPods(Plugin):
    """Keeps count of placed pods by itself; no extension point, and no profile names it."""

    def pod_placed(self, pod: Pod) -> None:
        """Take note of a pod that counts on the node that it names from now on, bound or about to be.

        Also told of every pod that is placed already when the plugin begins. A pod that changes leaves and is placed
        again, all before anything else happens.
        """
        raise NotImplementedError

    def pod_left(self, pod: Pod) -> None:
        """Take note of a pod, as it was placed, that counts there no more."""
        raise NotImplementedError


class EvictionRule(Plugin):
    """Has a say in who is evicted for whom, whichever plugin evicts; no extension point, and no profile names it."""

    def may_evict(self, cycle: Cycle, pod: Pod, victim: Pod) -> bool:
        """Tell whether the victim may go for the pod; the notes are as if those before it were gone already."""
        raise NotImplementedError

    def objection(self, cycle: Cycle, pod: Pod) -> Rejection | None:
        """Return why the pod could not be placed even after the evictions that the notes tell of, or None."""
        return None

    def enough_leave(self, cycle: Cycle, pod: Pod, verdicts: Verdicts) -> Nominated | NoRoom | None:
        """Return why nobody has to go but those that leave already, or None; asked before any plugin makes room.

        A node may be nominated for the pod, without victims.
        """
        return None

    def spares(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> str:
        """Return in few words whom it spares on a node for now; people alone ask, and see it."""
        return ""

    def evictions_began(self, preemptor: Pod, victims: Sequence[Pod]) -> None:
        """Take note of pods that are told to go for another one, by whichever plugin and profile."""

    def called_off(self, victims: Sequence[Pod]) -> None:
        """Take note of pods that do not leave: they could not be evicted, or are back in the queue at once."""


class UsesLoad(Plugin):
    """Looks at how busy nodes are, by figures of `handle.load`; no extension point, and no profile names it."""

    def service(self) -> tuple[At, Service] | None:
        """Return who is to be asked beside the API server, and in which of the arguments that stands; None: nobody."""
        return None


class PlacementScore(Plugin):
    """Says which placement of a whole group of pods is best; kept for configurations that name it."""


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
