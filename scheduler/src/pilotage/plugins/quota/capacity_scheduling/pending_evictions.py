"""Pods that terminate to make room: evicted by this scheduler, or seen terminating."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from pilotage.framework.runtime.preemption.evicting import is_evicted
from pilotage.model.pod import Pod


@dataclass(slots=True)
class _Told:
    """An evicted pod, and its preemptor; it may be gone by now."""

    pod: Pod
    preemptors: set[str] = field(default_factory=set)  # by uid
    is_there: bool = True


class PendingEvictions:
    """Evicted pods, from the decision on: the API server shows them terminating only some time later."""

    def __init__(self) -> None:
        self._told: dict[str, _Told] = {}  # by uid
        self._seen: dict[str, Pod] = {}  # by uid: those that the API server shows terminating, whoever evicts them

    def placed(self, pod: Pod) -> None:
        """Record a pod as it is now on its node."""
        if is_evicted(pod):
            self._seen[pod.uid] = pod
        if (told := self._told.get(pod.uid)) is not None:
            told.pod, told.is_there = pod, True

    def left(self, pod: Pod) -> None:
        """Record a pod that is not on its node any more; one that changes leaves and is placed again."""
        self._seen.pop(pod.uid, None)
        if (told := self._told.get(pod.uid)) is not None:
            told.is_there = False

    def tell(self, preemptor: Pod, victims: Iterable[Pod]) -> None:
        """Record pods that are told to go for another one."""
        self._told = {uid: told for uid, told in self._told.items() if told.is_there}
        for victim in victims:
            self._told.setdefault(victim.uid, _Told(victim)).preemptors.add(preemptor.uid)

    def call_off(self, victims: Iterable[Pod]) -> None:
        """Record pods that were told to go and do not leave."""
        for victim in victims:
            self._told.pop(victim.uid, None)

    def made_for(self, preemptor: Pod) -> list[Pod]:
        """Return the pods that were told to go for another one and are still there."""
        return [told.pod for told in self._told.values() if told.is_there and preemptor.uid in told.preemptors]

    def all(self) -> list[Pod]:
        """Return the pods that leave and are still there."""
        told = {uid: each.pod for uid, each in self._told.items() if each.is_there}
        return list((told | self._seen).values())
