"""The waiting pods of each gang, wherever in the queue they are."""

from collections.abc import Iterable

from pilotage.model.gangs import GangName, gang_of
from pilotage.queue.queued_pod import QueuedPod


class GangIndex:
    """The waiting pods of each gang; each pod has a reference to its group."""

    def __init__(self) -> None:
        self._gangs: dict[GangName, dict[str, QueuedPod]] = {}

    def join(self, queued: QueuedPod) -> None:
        """Add a waiting pod, if it names a gang."""
        queued.gang = gang_of(queued.pod)
        if queued.gang is not None:
            self._gangs.setdefault(queued.gang, {})[queued.key] = queued

    def leave(self, queued: QueuedPod) -> None:
        """Remove a pod that no longer waits."""
        if queued.gang is None:
            return
        members = self._gangs[queued.gang]
        del members[queued.key]
        if not members:
            del self._gangs[queued.gang]
        queued.gang = None

    def keys(self, gangs: Iterable[GangName]) -> list[str]:
        """Return the pods of some gangs, by namespace/name."""
        return [key for gang in gangs for key in self._gangs.get(gang, ())]

    def members(self, gang: GangName, scheduler: str) -> list[QueuedPod]:
        """Return the pods of a gang that wait for a scheduler and are not terminating, gated or not."""
        found = self._gangs.get(gang, {}).values()
        return [each for each in found if each.pod.scheduler_name == scheduler and not each.pod.is_terminating]
