"""What scheduling asks of the world outside: whoever can write to the API server."""

from collections.abc import Callable, Sequence
from typing import Protocol

from pilotage.cluster.write.evictor import Evicted, NotEvicted
from pilotage.model.gangs import GangName
from pilotage.model.pod import Pod
from pilotage.scheduling.outcome import Outcome

Lookup = Callable[[str], Pod | None]  # a pod as the API server last had it, by namespace/name


class Recorder(Protocol):
    """Writes events about pods, some time later."""

    def record(
        self, pod: Pod, severity: str, reason: str, action: str, note: str, *, controller: str, once: bool = False
    ) -> None:
        """Tell the owner of a pod what happened to it; never waits. What happens once is not remembered."""


class Statuses(Protocol):
    """Changes the status of pods, some time later."""

    def condition(self, pod: Pod, reason: str, message: str, nominate: str | None = None) -> None:
        """Say why a pod waits; "" clears the nomination, None lets it stand."""

    def nominate(self, pod: Pod, node: str) -> None:
        """Nominate a node for a pod, or clear the nomination, and leave all else."""

    def drop(self, uid: str) -> bool:
        """Write nothing more that still waits about a pod; True if something is on its way."""

    async def settled(self, uid: str) -> None:
        """Wait until nothing about a pod is on its way."""


class GroupStatuses(Protocol):
    """Changes the status of Kubernetes' own PodGroups, some time later; of one that there is not, nothing is said."""

    def scheduled(self, gang: GangName) -> None:
        """Say that enough pods of a group have their places."""

    def waits(self, gang: GangName, reason: str, message: str) -> None:
        """Say why a group has none."""


class SilentGroups:
    """Says nothing of groups."""

    def scheduled(self, gang: GangName) -> None:
        """Say nothing."""

    def waits(self, gang: GangName, reason: str, message: str) -> None:
        """Say nothing."""


SILENT: GroupStatuses = SilentGroups()


class Evicts(Protocol):
    """Deletes pods."""

    async def evict(self, victim: Pod, scheduler: str) -> Evicted | NotEvicted:
        """Mark a pod as evicted for the sake of another one, and delete it."""


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
        """Place a pod or say why not; None if it no longer waits."""
