"""Coscheduling: pods that start together or not at all."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from pilotage.config.documents import At
from pilotage.config.faults import Fault, invalid
from pilotage.config.types import Int32, Int64
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.events import Action, Event, Resource, Retry
from pilotage.framework.api.gangs import FormsGangs
from pilotage.framework.api.handle import Handle
from pilotage.framework.api.nodes import Nodes
from pilotage.framework.api.plugin import Permit, PostFilter, PreFilter, QueuedPod, QueueSort, Reserve
from pilotage.framework.api.remedies import Remedy
from pilotage.framework.api.verdicts import (
    SKIP,
    WAITING_FOR_GROUP,
    Filtered,
    NoRoom,
    PreFiltered,
    Rejection,
    Verdicts,
    Wait,
)
from pilotage.framework.api.waiting import WaitingPod
from pilotage.framework.runtime.reading import permission_on
from pilotage.kinds.pod_groups import NativePodGroup, PodGroup
from pilotage.model.gangs import BY_GROUP, BY_LABELS, MIN_LABEL, NATIVE, GangName, gang_of
from pilotage.model.match_policies import MATCH_POLICY, MatchPolicy
from pilotage.model.pod import Pod
from pilotage.plugins.gangs.coscheduling.gang_records import GangRecords
from pilotage.plugins.gangs.coscheduling.gang_remedies import missing_group, smaller_quorum
from pilotage.plugins.gangs.coscheduling.gang_room import FreeRoom
from pilotage.plugins.gangs.coscheduling.resource_gap import resource_gap

LONGEST_WAIT = 60  # seconds, if neither the group nor the arguments set it
SAME_FOR = 10.0  # seconds after a failed attempt in which only freed resources allow another one
KINDS: Mapping[str, type[PodGroup] | type[NativePodGroup]] = {BY_GROUP: PodGroup, NATIVE: NativePodGroup}
ROOM = Action.ADD | Action.UPDATE_NODE_ALLOCATABLE | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_TAINT

GROUP = Action.ADD | Action.UPDATE


class Coscheduling(QueueSort, PreFilter, PostFilter, Reserve, Permit, FormsGangs):
    """Place all pods of a group in one decision, or none of them."""

    permit_waiting_time_seconds: Int64 = 60
    pod_group_backoff_seconds: Int64 = 0
    pod_group_reject_percentage: Int32 = 10

    reads = (PodGroup, NativePodGroup)
    retry_on = (
        Retry(Resource.ASSIGNED_POD, Action.ADD, "is_sibling", for_gang=True, only_gang="gang_of_placed"),
        Retry(Resource.ASSIGNED_POD, Action.DELETE, "has_room", for_gang=True),
        Retry(Resource.NODE, ROOM, "has_room", for_gang=True),
        Retry(PodGroup, GROUP, "is_own_group", for_gang=True, only_gang="gang_of_group"),
        Retry(Resource.POD_GROUP, GROUP, "is_own_group", for_gang=True, only_gang="gang_of_group"),
    )

    permissions = (permission_on(NativePodGroup, "patch", part="status"),)

    def __post_init__(self) -> None:
        """Start with empty state."""
        super().__post_init__()
        self._records = GangRecords()
        self._room: FreeRoom | None = None
        self._clock: Callable[[], float] = time.time

    def faults(self, at: At) -> list[Fault]:
        """Return the errors in the arguments."""
        found = []
        if self.permit_waiting_time_seconds < 0:
            place = (*at, "permitWaitingTimeSeconds")
            found.append(invalid(place, self.permit_waiting_time_seconds, "must be greater than 0"))
        if self.pod_group_backoff_seconds < 0:
            place = (*at, "podGroupBackoffSeconds")
            found.append(invalid(place, self.pod_group_backoff_seconds, "must be greater than 0"))
        if not 0 <= self.pod_group_reject_percentage <= 100:
            place = (*at, "podGroupRejectPercentage")
            found.append(invalid(place, self.pod_group_reject_percentage, "must be between 0 and 100"))
        return found

    # ------------------------------------------------------------------------------------------- membership

    def start(self, handle: Handle) -> None:
        """Keep the handle for reading the cluster."""
        super().start(handle)
        self._room = FreeRoom(handle.nodes, lambda: handle.remit, handle.delegation.serves)

    def pod_placed(self, pod: Pod) -> None:
        """Count a pod for its gang."""
        self._records.add(pod)

    def pod_left(self, pod: Pod) -> None:
        """Remove it."""
        self._records.remove(pod)

    def quorum(self, gang: GangName, pod: Pod) -> int | None:
        """Return how many pods of a gang must run together; None if there is no such group."""
        if gang.source == BY_LABELS:
            return self._records.least_by_labels(gang, pod)
        group = self._group(gang)
        return None if group is None else group.quorum

    def placed(self, gang: GangName) -> int:
        """Return how many pods of a gang have a node and are not terminating."""
        return self._records.placed(gang)

    def missing(self, gang: GangName, pod: Pod) -> int | None:
        """Return how many more pods of a gang must be placed at once; None if there is no such group."""
        quorum, policy = self.quorum(gang, pod), self._policy(gang)
        if quorum is None or quorum == 1 or policy is None:
            return None  # a gang of one is an ordinary pod
        return quorum - self._counted(gang, pod, quorum, policy)

    def _counted(self, gang: GangName, pod: Pod, quorum: int, policy: MatchPolicy) -> int:
        """Return how many pods count towards the quorum without waiting, as this pod sees it."""
        if policy is MatchPolicy.ONLY_WAITING:
            # The quorum was reached for a pod whose bind failed, and the other pods are running.
            return quorum if self._records.was_let_go(gang, pod) else 0
        if policy is MatchPolicy.ONCE_SATISFIED and (group := self._group(gang)) and group.was_satisfied:
            return quorum
        return self._records.placed(gang)

    def _group(self, gang: GangName) -> PodGroup | NativePodGroup | None:
        if gang.source == BY_LABELS:
            return None
        return self.handle.objects.get(KINDS[gang.source], gang.name, gang.namespace)

    def _policy(self, gang: GangName) -> MatchPolicy | None:
        group = self._group(gang)
        return MatchPolicy.WAITING_AND_PLACED if group is None else group.match_policy

    # --------------------------------------------------------------------------------------------- before a decision

    def objection(self, gang: GangName, pod: Pod, waiting: int, gated: int) -> Rejection | None:
        """Return why not to try a gang now."""
        if self._records.backs_off(gang, self._clock()):
            return Rejection(f"podGroup {gang} failed recently", pending=True)
        quorum = self.quorum(gang, pod) or 1
        there = quorum - (self.missing(gang, pod) or 0) + waiting
        self._records.note_members(gang, are_enough=there + gated >= quorum)
        if there + gated < quorum:
            numbers = f"current pods number: {there + gated}, minMember of group: {quorum}"
            text = f"pre-filter pod {pod.name} cannot find enough sibling pods, {numbers}"
            return Rejection(text, held_as=WAITING_FOR_GROUP)
        if there < quorum:
            text = f"pre-filter pod {pod.name} cannot proceed due to gated pods in the same PodGroup"
            return Rejection(text, held_as=WAITING_FOR_GROUP)
        return None

    def shortage(self, gang: GangName, pod: Pod) -> Rejection | None:
        """Return which of the group's minResources the cluster lacks."""
        group = self._group(gang)
        if not isinstance(group, PodGroup) or group.spec.min_resources is None or self._room is None:
            return None
        own = [] if group.match_policy is MatchPolicy.ONLY_WAITING else self._records.pods(gang)
        serves = self.handle.delegation.serves
        gap = resource_gap(self.handle.nodes(), group.spec.min_resources, group.quorum, own, serves)
        return Rejection(f"resource gap: {gap} for PodGroup {gang}") if gap else None

    # ---------------------------------------------------------------------------------------------- after a decision

    def known_rejection(self, gang: GangName, waiting: Sequence[Pod]) -> str | None:
        """Return why a gang was rejected, if it still does not fit; only for a while, since evictions may help."""
        may_evict = any(pod.spec.preemption_policy != "Never" for pod in waiting)
        since = self._clock() - SAME_FOR if may_evict else 0.0
        why, wish = self._records.failure(gang, waiting, since), self._records.wish(gang)
        return None if wish is None or self._room is None or self._room.could_fit(wish) else why

    def gang_rejected(self, gang: GangName, waiting: Sequence[Pod], why: str) -> bool:
        """Record that a gang did not fit; True if free resources show when to retry."""
        needed = self.missing(gang, waiting[0]) or 0
        self._records.fail(gang, self._clock(), waiting, needed, why, self.pod_group_backoff_seconds)
        wish = self._records.wish(gang)
        return wish is not None and self._room is not None and not self._room.could_fit(wish)

    def with_fewer(self, gang: GangName, pod: Pod, fewer: int) -> Remedy | None:
        """Return a group with a smaller quorum."""
        group, quorum = self._group(gang), self.quorum(gang, pod) or 1
        return None if group is None else smaller_quorum(group, quorum, quorum - fewer)

    def remedies(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Iterator[Remedy]:
        """Offer to create the missing group."""
        gang = gang_of(pod)
        if gang is not None and gang.source == BY_GROUP and self._group(gang) is None:
            yield missing_group(gang, pod)

    def placed_together(self, gang: GangName) -> None:
        """Record that a gang was placed."""
        self._records.succeed(gang)
        if self._policy(gang) is MatchPolicy.ONLY_WAITING:
            self._records.let_go(gang)

    def is_sibling(self, pod: Pod, event: Event, old: Pod | None, new: Pod) -> bool:
        """Return whether a pod of the same gang was placed."""
        return gang_of(new) == gang_of(pod) is not None

    def gang_of_placed(self, old: Pod | None, new: Pod) -> GangName | None:
        """Return the gang of a placed pod."""
        return gang_of(new)

    def gang_of_group(self, old: object, new: PodGroup | NativePodGroup) -> GangName:
        """Return the gang that a group defines."""
        source = BY_GROUP if isinstance(new, PodGroup) else NATIVE
        return GangName(source, new.metadata.namespace, new.metadata.name)

    def has_room(self, pod: Pod, event: Event, old: object, new: object) -> bool:
        """Return whether the gang may fit now."""
        gang = gang_of(pod)
        if gang is not None and self._records.lacks_members(gang):
            # It does not wait for resources, but its size may depend on labels of a deleted member.
            return isinstance(old, Pod) and gang_of(old) == gang
        wish = self._records.wish(gang) if gang is not None else None
        return wish is None or self._room is None or self._room.could_fit(wish)

    def is_own_group(
        self,
        pod: Pod,
        event: Event,
        old: PodGroup | NativePodGroup | None,
        new: PodGroup | NativePodGroup,
    ) -> bool:
        """Return whether the pod's own group was added, or its requirements changed."""
        if old is not None and _wanted(old) == _wanted(new):
            return False  # the rest of its status is written by schedulers and controllers
        return gang_of(pod) == self.gang_of_group(old, new)

    # -------------------------------------------------------------------------------------------- one pod at a time

    def pre_filter(self, cycle: Cycle, pod: Pod) -> PreFiltered:
        """Reject a pod whose group is missing or cannot be decoded; everything else concerns the group as a whole."""
        gang = gang_of(pod)
        if gang is None:
            return SKIP
        group = self._group(gang)
        if group is not None and group.match_policy is None:
            text = _unknown_policy(gang, group)
        elif self.quorum(gang, pod) is not None:
            return SKIP
        elif broken := self._not_understood(gang):
            text = f"PodGroup {gang} cannot be decoded: {broken}; correct it, or remove the pod from the group"
        elif gang.source == NATIVE:
            text = f'waiting for pods\'s pod group "{gang.name}" to appear in scheduling queue'
        elif gang.source == BY_LABELS:
            text = f"the label {MIN_LABEL} must be the number of pods that {gang} needs, and is not a whole number"
        else:
            text = f"PodGroup not found: {gang}; {self._remedy()}, or remove the label from the pod"
        return Rejection(text, preemption_helps=False, held_as=WAITING_FOR_GROUP)

    def _not_understood(self, gang: GangName) -> str | None:
        if gang.source == BY_LABELS:
            return None
        return self.handle.objects.troubles(KINDS[gang.source], gang.namespace).get(gang.name)

    def _remedy(self) -> str:
        """Return the fix for a missing group; if there are no groups at all, permissions may be missing."""
        if any(True for _ in self.handle.objects.all(PodGroup)):
            return "create it"
        return f"create it, make sure that the scheduler may list {PodGroup.api} (it sees none at all)"

    def post_filter(self, cycle: Cycle, pod: Pod, verdicts: Verdicts) -> NoRoom:
        """Do not preempt: preemption is decided for a gang as a whole."""
        return NoRoom("", keeps_nomination=True)

    def reserve(self, cycle: Cycle, pod: Pod, node: str) -> Filtered:
        """Reserve nothing beyond the node."""
        return None

    def unreserve(self, cycle: Cycle, pod: Pod, node: str) -> None:
        """Reject the siblings that wait for a pod that lost its node."""
        gang = gang_of(pod)
        if gang is not None and (self.missing(gang, pod) or 0) > 0:
            for waiting in self._siblings(gang):
                waiting.reject(self.name, "rejection in Unreserve")

    def permit(self, cycle: Cycle, pod: Pod, node: str) -> Wait | None:
        """Let a pod that was placed alone, because of extenders, wait until enough siblings have a node."""
        gang = gang_of(pod)
        if gang is None:
            return None
        missing = self.missing(gang, pod) or 0
        if missing > 0 and self._policy(gang) is MatchPolicy.ONLY_WAITING:
            missing -= 1 + len(self._siblings(gang))
        if missing > 0:
            return Wait(self._longest_wait(gang), "waiting for the other pods of its group")
        if siblings := self._siblings(gang):
            self.placed_together(gang)
        for waiting in siblings:
            waiting.allow(self.name)
        return None

    def _siblings(self, gang: GangName) -> list[WaitingPod]:
        return [waiting for waiting in self.handle.waiting_pods if gang_of(waiting.pod) == gang]

    def _longest_wait(self, gang: GangName) -> float:
        group = self._group(gang)
        own = group.spec.schedule_timeout_seconds if isinstance(group, PodGroup) else None
        if own is not None and own > 0:
            return float(own)
        return float(self.permit_waiting_time_seconds or (0 if own == 0 else LONGEST_WAIT))

    # ------------------------------------------------------------------------------------------------- queue order

    def sort_key(self, queued: QueuedPod) -> tuple[int, float, str, str]:
        """Return the sort key of a pod: priority, the creation time of its group or its own, name."""
        pod, gang = queued.pod, gang_of(queued.pod)
        first = getattr(queued, "initial_attempt_timestamp", None)
        since = queued.timestamp if first is None else first
        if gang is not None:
            since = self._records.since(gang, self._created(gang), since)
        return -pod.priority, since, str(gang) if gang is not None else "", pod.key

    def less(self, one: QueuedPod, other: QueuedPod) -> bool:
        """Return whether the first pod goes before the second."""
        return self.sort_key(one) < self.sort_key(other)

    def _created(self, gang: GangName) -> str | None:
        group = self._group(gang)
        return None if group is None else group.metadata.creation_timestamp


def _wanted(group: PodGroup | NativePodGroup) -> tuple[object, ...]:
    """Return the fields of a group that decide when its pods may start."""
    policy = group.match_policy
    return group.spec, policy, policy is MatchPolicy.ONCE_SATISFIED and group.was_satisfied


def _unknown_policy(gang: GangName, group: PodGroup | NativePodGroup) -> str:
    named = group.metadata.annotations[MATCH_POLICY]
    return f"the annotation {MATCH_POLICY} of PodGroup {gang} is {named!r}; it must be one of {', '.join(MatchPolicy)}"
