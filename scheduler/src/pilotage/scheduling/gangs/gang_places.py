"""The nodes that pods of a gang reserve one by one, until all of them are decided."""

from collections.abc import Callable, Container, Generator, Iterator
from enum import Enum

from pilotage.cache.cluster_cache import ClusterCache
from pilotage.model.node import Node
from pilotage.model.pod import Pod
from pilotage.queue.queued_pod import QueuedPod
from pilotage.queue.scheduling_queue import SchedulingQueue
from pilotage.scheduling.cycle import Scheduler
from pilotage.scheduling.gangs.gang_outcomes import Decision, Gang
from pilotage.scheduling.outcome import SCHEDULER_ERROR, Outcome, Placed, Unplaced

ROUNDS = 3  # of finding new nodes for members whose nodes other pods have taken
PLACES_TAKEN = Unplaced("other pods took the places of the group while it was being scheduled", SCHEDULER_ERROR)


class Gap(Enum):
    """What may run between two steps."""

    DECIDE = "decide"  # scheduling too, with the gang's reservations visible
    LISTEN = "listen"  # only watch events and writes: the cache shows a dry run, or nominations for the gang


class Placing:
    """The members of a gang that have been tried, and their reservations until the decision."""

    def __init__(
        self,
        gang: Gang,
        cache: ClusterCache,
        queue: SchedulingQueue,
        scheduler: Scheduler,
        is_waiting: Callable[[Pod], bool],
    ) -> None:
        self._gang = gang
        self._cache = cache
        self._queue = queue
        self._scheduler = scheduler
        self._is_waiting = is_waiting
        self._nodes: dict[str, Node] = {}  # when they were chosen, by uid of the member
        self._gone: set[str] = set()  # the uids of members that no longer need to be placed
        # Other pods could use the nodes nominated for pods in flight.
        nominated = any(pod.nominated_node or queue.nominator.node_of(pod) for pod in gang.pods)
        self._gap = Gap.LISTEN if nominated else Gap.DECIDE
        self.tried: list[Decision] = []

    def count(self) -> int:
        """Return how many members have a node."""
        return sum(isinstance(outcome, Placed) for _, outcome in self.tried)

    def is_there(self, member: QueuedPod) -> bool:
        """Return whether a member without a node still needs one."""
        uid = member.pod.uid
        if uid not in self._gone and not self._is_waiting(member.pod):
            self._gone.add(uid)
            self._queue.done(uid)
        return uid not in self._gone

    def still_there(self) -> list[QueuedPod]:
        """Return the members that still need a node, while none has one."""
        return [member for member in self._gang.members if self.is_there(member)]

    def place(self) -> Iterator[Gap]:
        """Place members until it is clear that not enough will fit."""
        members, needed = self._gang.members, self._gang.needed
        left = len(members)  # placed, or still to be tried
        for member in members:
            if left < needed:
                return
            left -= not (self.is_there(member) and self._try(member))
            yield self._gap
        yield from self._replace_stale()

    def _try(self, member: QueuedPod) -> bool:
        outcome = self._scheduler.schedule(member.pod, preempt=False)
        self.tried.append((member, outcome))
        info = self._cache.find_node(outcome.node) if isinstance(outcome, Placed) else None
        if info is not None:
            self._nodes[member.pod.uid] = info.node
        return info is not None

    def _replace_stale(self) -> Iterator[Gap]:
        """Find other nodes for members whose node no longer fits; afterwards all reservations are valid."""
        for _ in range(ROUNDS):
            stale = yield from self._stale()
            if not stale:
                return
            lost = {member.pod.uid for member, _ in stale}
            self.tried = [(member, outcome) for member, outcome in self.tried if member.pod.uid not in lost]
            for _, outcome in stale:
                self._unreserve(outcome)
            for member, _ in stale:
                if self.is_there(member):
                    self._try(member)
                yield self._gap
        self.tried = [(m, PLACES_TAKEN if self._is_stale(o) and self._unreserve(o) else o) for m, o in self.tried]

    def _stale(self) -> Generator[Gap, None, list[Decision]]:
        """Return the members whose node no longer fits, as of now."""
        columns = self._cache.columns
        version, found = columns.pods_version, list[Decision]()
        for each in self.tried:
            if self._is_stale(each[1]):
                found.append(each)
            yield self._gap
        changed = columns.changed_since(version)
        if changed is None:
            return [each for each in self.tried if self._is_stale(each[1])]
        names = {columns.infos[slot].name for slot in changed.tolist()}
        known = {member.pod.uid for member, _ in found}
        again = (each for each in self.tried if isinstance(each[1], Placed) and self._may_have_changed(each[1], names))
        return found + [each for each in again if each[0].pod.uid not in known and self._is_stale(each[1])]

    def _may_have_changed(self, placed: Placed, names: Container[str]) -> bool:
        return placed.node in names or self._cache.find_node(placed.node) is None

    def _is_stale(self, outcome: Outcome) -> bool:
        if not isinstance(outcome, Placed):
            return False
        pod, info = outcome.pod, self._cache.find_node(outcome.node)
        if info is None or not self._cache.is_assumed(pod.uid):
            return True
        then = self._nodes[pod.uid]
        if info.node is not then and not info.node.has_same_facts(then):
            return True
        return len(info.pods) > info.node.allowed_pods or any(info.free(resource) < 0 for resource in pod.requests)

    def _unreserve(self, outcome: Outcome) -> bool:
        if isinstance(outcome, Placed):
            self._scheduler.unreserve(outcome)
        return True

    def unreserve(self) -> Iterator[Gap]:
        """Release all reservations, the last one first."""
        while self.tried:
            self._unreserve(self.tried.pop()[1])
            yield self._gap

    def keep_the_first(self) -> Iterator[Gap]:
        """Release the reservations of all members after the first one without a node."""
        first = next(place for place, (_, outcome) in enumerate(self.tried) if not isinstance(outcome, Placed))
        while len(self.tried) > first:
            self._unreserve(self.tried.pop()[1])
            yield self._gap

    def hand_over(self) -> list[Placed]:
        """Hand the reservations over to the caller."""
        return [outcome for _, outcome in self.settled() if isinstance(outcome, Placed)]

    def settled(self) -> list[Decision]:
        """Return the outcomes of all members, which keep their nodes."""
        tried, self.tried = self.tried, []
        return tried
