"""Pending evictions: pods evicted by this scheduler, or seen terminating."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from pilotage.framework.runtime.preemption.evicting import is_evicted
from pilotage.model.pod import Pod


@dataclass(slots=True)
class _Told:
    """An evicted pod, which may have terminated already, and its preemptors."""

    pod: Pod
    preemptors: set[str] = field(default_factory=set)  # by uid
    is_there: bool = True


class PendingEvictions:
    """Evicted pods, from the decision on: the watch shows them terminating only later."""

    def __init__(self) -> None:
        self._told: dict[str, _Told] = {}  # by uid
        self._seen: dict[str, Pod] = {}  # by uid: pods that the watch shows terminating, for any reason

    def placed(self, pod: Pod) -> None:
        """Record the current state of a pod on its node."""
        if is_evicted(pod):
            self._seen[pod.uid] = pod
        if (told := self._told.get(pod.uid)) is not None:
            told.pod, told.is_there = pod, True

    def left(self, pod: Pod) -> None:
        """Record that a pod left its node; an update is a departure followed by a placement."""
        self._seen.pop(pod.uid, None)
        if (told := self._told.get(pod.uid)) is not None:
            told.is_there = False

    def tell(self, preemptor: Pod, victims: Iterable[Pod]) -> None:
        """Record pods that are being evicted for another one."""
        self._told = {uid: told for uid, told in self._told.items() if told.is_there}
        for victim in victims:
            self._told.setdefault(victim.uid, _Told(victim)).preemptors.add(preemptor.uid)

    def call_off(self, victims: Iterable[Pod]) -> None:
        """Record pods that are not evicted after all."""
        for victim in victims:
            self._told.pop(victim.uid, None)

    def made_for(self, preemptor: Pod) -> list[Pod]:
        """Return the pods that were evicted for another one and have not terminated yet."""
        return [told.pod for told in self._told.values() if told.is_there and preemptor.uid in told.preemptors]

    def all(self) -> list[Pod]:
        """Return all pods that are terminating."""
        told = {uid: each.pod for uid, each in self._told.items() if each.is_there}
        return list((told | self._seen).values())
