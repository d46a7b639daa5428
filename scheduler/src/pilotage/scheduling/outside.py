"""The interfaces through which scheduling writes to the API server."""

from collections.abc import Callable, Sequence
from typing import Protocol

from pilotage.cluster.write.evictor import Evicted, NotEvicted
from pilotage.model.gangs import GangName
from pilotage.model.pod import Pod
from pilotage.scheduling.outcome import Outcome

Lookup = Callable[[str], Pod | None]  # a pod as last received from the API server, by namespace/name


class Recorder(Protocol):
    """Records events about pods; they are written in the background."""

    def record(
        self, pod: Pod, severity: str, reason: str, action: str, note: str, *, controller: str, once: bool = False
    ) -> None:
        """Record an event about a pod without waiting; with `once`, it never becomes part of a series."""


class Statuses(Protocol):
    """Changes the status of pods in the background."""

    def condition(self, pod: Pod, reason: str, message: str, nominate: str | None = None) -> None:
        """Set the PodScheduled condition; "" clears the nomination, None keeps it."""

    def nominate(self, pod: Pod, node: str) -> None:
        """Set or clear the nominated node of a pod, and nothing else."""

    def drop(self, uid: str) -> bool:
        """Drop pending writes about a pod; True if one is in flight."""

    async def settled(self, uid: str) -> None:
        """Wait until no write about a pod is in flight."""


class GroupStatuses(Protocol):
    """Changes the status of Kubernetes' own PodGroups in the background; missing groups are ignored."""

    def scheduled(self, gang: GangName) -> None:
        """Set the condition that enough pods of a group are scheduled."""

    def waits(self, gang: GangName, reason: str, message: str) -> None:
        """Set the condition that a group is not scheduled."""


class SilentGroups:
    """Writes nothing about groups."""

    def scheduled(self, gang: GangName) -> None:
        """Do nothing."""

    def waits(self, gang: GangName, reason: str, message: str) -> None:
        """Do nothing."""


SILENT: GroupStatuses = SilentGroups()


class Evicts(Protocol):
    """Deletes pods."""

    async def evict(self, victim: Pod, scheduler: str) -> Evicted | NotEvicted:
        """Mark a pod as evicted for another one, and delete it."""


class Named(Protocol):
    """Something with a name."""

    @property
    def name(self) -> str:
        """Return it."""


class ExtendedCycle(Protocol):
    """Places pods that extenders are interested in."""

    def extenders_for(self, pod: Pod) -> Sequence[Named]:
        """Return the extenders that are interested in a pod, in order."""

    async def schedule_with_extenders(self, pod: Pod) -> Outcome | None:
        """Place a pod or return why not; None if it no longer waits."""
