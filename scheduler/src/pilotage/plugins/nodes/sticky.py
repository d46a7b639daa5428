"""Sticky: pods return to the node where their predecessor ran."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from pydantic import Field, StrictStr

from pilotage.config.documents import At
from pilotage.config.faults import Fault, invalid, unsupported
from pilotage.config.types import Int64
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.events import Action, Event, Resource, Retry
from pilotage.framework.api.nodes import Bools, Ints, NodeInfo, Nodes
from pilotage.framework.api.objects import Objects
from pilotage.framework.api.plugin import Filter, PreFilter, PreScore, Score
from pilotage.framework.api.scoring import MAX_SCORE
from pilotage.framework.api.stays import RemembersStays, Stay
from pilotage.framework.api.vacant_places import VacantPlaces, lineage
from pilotage.framework.api.verdicts import (
    SKIP,
    SKIP_KIND,
    SKIP_SHAPE,
    Filtered,
    OnlyNodes,
    PreFiltered,
    Rejection,
    Skip,
    Verdicts,
)
from pilotage.kinds.sticky_job import StickyJob
from pilotage.model.moments import seconds_of
from pilotage.model.node import Node
from pilotage.model.pod import Pod

PREFER, REQUIRE = "Prefer", "Require"
MOST_SHOWN = 3  # nodes in a remark
ELSEWHERE = Rejection("already stick to another node", preemption_helps=False)  # evictions do not help


@dataclass(frozen=True, slots=True)
class Home:
    """The existing nodes to which a pod may return, and whether it must."""

    nodes: frozenset[str]
    is_required: bool

    def mask(self, nodes: Nodes) -> Bools:
        """Return a mask of these nodes in a set."""
        found = (nodes.find(name) for name in self.nodes)
        return np.isin(nodes.slots, [info.slot for info in found if info is not None])


class Sticky(PreFilter, Filter, PreScore, Score, RemembersStays):
    """Return a pod to the node where its predecessor ran, as a preference or as a requirement."""

    mode: StrictStr = Field(
        default=PREFER, description="Prefer: any node is acceptable. Require: the pod waits for its node."
    )
    remember_seconds: Int64 = Field(
        default=0, description="How long a node is remembered after the predecessor left it; 0: forever."
    )
    give_up_seconds: Int64 = Field(
        default=0, description="With Require, the age of a pod from which any node is acceptable; 0: no limit."
    )

    # The scope is CLUSTER, because results depend on its own memory, the time and the pod's name.
    retry_on = (
        Retry(Resource.NODE, Action.ADD | Action.DELETE, "home_came_or_went"),
        Retry(Resource.ASSIGNED_POD, Action.ADD | Action.DELETE, "kin_came_or_went"),
        Retry(StickyJob, Action.ALL, "job_moved"),
    )
    reads = (StickyJob,)

    def __post_init__(self) -> None:
        """Start with empty state."""
        super().__post_init__()
        self._vacant = VacantPlaces()
        self._clock: Callable[[], float] = time.time

    def faults(self, at: At) -> list[Fault]:
        """Return the errors in the arguments."""
        found = [] if self.mode in (PREFER, REQUIRE) else [unsupported((*at, "mode"), self.mode, (PREFER, REQUIRE))]
        seconds = {"rememberSeconds": self.remember_seconds, "giveUpSeconds": self.give_up_seconds}
        wrong = {name: value for name, value in seconds.items() if value < 0}
        return found + [invalid((*at, name), value, "not in valid range [0, inf)") for name, value in wrong.items()]

    def pod_placed(self, pod: Pod) -> None:
        """Assign the place of a predecessor to the pod."""
        self._vacant.pod_placed(pod, self._clock())

    def pod_left(self, pod: Pod) -> None:
        """Keep the pod's place for a successor."""
        self._vacant.pod_left(pod, self._clock())

    def recall(self, pod: Pod, stays: Sequence[Stay]) -> None:
        """Replace the recorded stays of the pod's predecessors."""
        if (kin := lineage(pod)) is not None:
            self._vacant.recall(kin, stays)

    def remark(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> str:
        """Return the nodes to which the pod must return."""
        names = sorted(self._home(cycle, pod).nodes)
        more = f" and {len(names) - MOST_SHOWN} more" if len(names) > MOST_SHOWN else ""
        return f"returns to {', '.join(names[:MOST_SHOWN])}{more}" if names else ""

    def pre_filter(self, cycle: Cycle, pod: Pod) -> PreFiltered:
        """Return the nodes where predecessors ran, if the pod must return to one."""
        if self.mode != REQUIRE:
            return SKIP_SHAPE
        if lineage(pod) is None:
            return SKIP_KIND
        if (held := self._waits_for_job(cycle, pod)) is not None:
            return held
        home = self._home(cycle, pod)
        return OnlyNodes(home.nodes) if home.is_required else SKIP

    def filter(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> Filtered:
        """Reject the other nodes, for a profile without this plugin's PreFilter."""
        home = self._home(cycle, pod)
        return ELSEWHERE if home.is_required and node.name not in home.nodes else None

    def filter_nodes(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Verdicts:
        """Reject all such nodes."""
        home = self._home(cycle, pod)
        return Verdicts.where(~home.mask(nodes), ELSEWHERE) if home.is_required else Verdicts.all_fit(len(nodes))

    def pre_score(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Skip | None:
        """Skip a pod without a predecessor."""
        if lineage(pod) is None:
            return SKIP_KIND
        return None if self._home(cycle, pod).nodes else SKIP

    def score(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> int:
        """Return the best score for a node where a predecessor ran."""
        return MAX_SCORE if node.name in self._home(cycle, pod).nodes else 0

    def score_nodes(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Ints | int:
        """Return the same for many nodes."""
        home = self._home(cycle, pod)
        return home.mask(nodes).astype(np.int64) * MAX_SCORE if home.nodes else 0

    def home_came_or_went(self, pod: Pod, event: Event, old: Node | None, new: Node | None) -> bool:
        """Return whether a node is one of those to which the pod may return."""
        changed = new or old
        return changed is not None and changed.name in self._remembered(self.handle.objects, pod)

    def kin_came_or_went(self, pod: Pod, event: Event, old: Pod | None, new: Pod | None) -> bool:
        """Return whether a pod of the same owner has left a place, or has taken one that the pod waits for."""
        other = new or old
        return other is not None and lineage(other) == lineage(pod)

    def job_moved(self, pod: Pod, event: Event, old: StickyJob | None, new: StickyJob | None) -> bool:
        """Return whether the pod's job records another node."""
        owner, job = pod.metadata.controller, new or old
        if owner is None or job is None or not _is_owner(pod, job):
            return False
        return (old.status.last_node if old else "") != (new.status.last_node if new else "")

    def _waits_for_job(self, cycle: Cycle, pod: Pod) -> Rejection | None:
        """Reject a pod whose job cannot be decoded, if its node is not known otherwise."""
        name, end = _job_name(pod), self._gives_up(pod)
        reason = cycle.objects.troubles(StickyJob, pod.namespace).get(name)
        if reason is None or self._clock() >= end or self._remembered(cycle.objects, pod):
            return None
        if end < inf:
            cycle.try_again_at(end)
        text = f"StickyJob {pod.namespace}/{name} cannot be decoded: {reason}; correct it, it names the pod's node"
        return Rejection(text, preemption_helps=False)

    def _home(self, cycle: Cycle, pod: Pod) -> Home:
        """Return the nodes that the pod may return to; computed once per cycle."""
        home: Home | None = cycle.notes.get(self.name)
        if home is None:
            home = cycle.notes[self.name] = self._find_home(cycle, pod)
        return home

    def _find_home(self, cycle: Cycle, pod: Pod) -> Home:
        ends = {
            node: end
            for node, end in self._remembered(cycle.objects, pod).items()
            if cycle.nodes.find(node) is not None  # without deleted nodes
        }
        if not ends or self.mode != REQUIRE:
            return Home(frozenset(ends), is_required=False)
        end = min(max(ends.values()), self._gives_up(pod))
        is_required = self._clock() < end
        if is_required and end < inf:
            cycle.try_again_at(end)
        return Home(frozenset(ends), is_required)

    def _remembered(self, objects: Objects, pod: Pod) -> dict[str, float]:
        """Return the nodes where predecessors ran, and until when each is remembered."""
        kin, now, found = lineage(pod), self._clock(), dict[str, float]()
        if kin is None:
            return found
        for place in list(self._vacant.of(kin)):
            end = place.since + self.remember_seconds if self.remember_seconds else inf
            if end > now:
                found[place.node] = max(end, found.get(place.node, end))
            else:
                self._vacant.forget(place)
        job = _job_of(objects, pod)
        # The records of this process are at least as new as the job's status.
        return found or ({job.status.last_node: inf} if job is not None and job.status.last_node else {})

    def _gives_up(self, pod: Pod) -> float:
        created = seconds_of(pod.metadata.creation_timestamp)
        return created + self.give_up_seconds if created is not None and self.give_up_seconds else inf


def _job_of(objects: Objects, pod: Pod) -> StickyJob | None:
    name = _job_name(pod)
    job = objects.get(StickyJob, name, pod.namespace) if name else None
    return job if job is not None and _is_owner(pod, job) else None


def _job_name(pod: Pod) -> str:
    owner = pod.metadata.controller
    is_job = owner is not None and owner.kind == "StickyJob" and owner.api_version.startswith("pilotage.dev/")
    return owner.name if owner is not None and is_job else ""


def _is_owner(pod: Pod, job: StickyJob) -> bool:
    """Return whether a pod belongs to this job, not to one of the same name in another group or before it."""
    owner, about = pod.metadata.controller, job.metadata
    same_name = (_job_name(pod), pod.namespace) == (about.name, about.namespace or "default")
    return same_name and owner is not None and about.uid in ("", owner.uid)  # missing only in files
