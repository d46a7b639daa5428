"""Evicts pods: sets a condition with the reason, then deletes the pod."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import msgspec

from pilotage.cluster.transport.api_calls import Api
from pilotage.cluster.write.pod_paths import pod_path, status_path
from pilotage.cluster.write.status_patch import StatusChange, eviction_condition, patch_body
from pilotage.cluster.write.write_retries import FAILURES, PASSING_OR_CONFLICT, means_gone, with_retries, words_of
from pilotage.model.pod import Pod


@dataclass(frozen=True, slots=True)
class Evicted:
    """The victim is being deleted, or did not exist any more, in which case no event is recorded."""

    was_gone: bool = False


@dataclass(frozen=True, slots=True)
class NotEvicted:
    """The victim could not be deleted."""

    message: str


class Evictor:
    """Deletes the victims of preemption."""

    def __init__(self, api: Api, *, clock: Callable[[], float] = time.time) -> None:
        self._api = api
        self._clock = clock

    async def evict(
        self, victim: Pod, scheduler: str, preemptor: Literal["pod", "podgroup"] = "pod"
    ) -> Evicted | NotEvicted:
        """Set the condition of the victim, then delete it, but never a successor of the same name."""
        try:
            await self._explain(victim, scheduler, preemptor)
            await self._delete(victim)
        except FAILURES as failure:
            return Evicted(was_gone=True) if means_gone(failure) else NotEvicted(words_of(failure))
        return Evicted()

    async def _explain(self, victim: Pod, scheduler: str, preemptor: str) -> None:
        change = StatusChange(eviction_condition(victim, scheduler, preemptor)).beyond(victim.status)
        if change:
            body = patch_body(victim.uid, change, victim.status, self._clock())
            await with_retries(lambda: self._api.patch(status_path(victim), body), PASSING_OR_CONFLICT)

    async def _delete(self, victim: Pod) -> None:
        # kube-scheduler sets no precondition, and so could delete a successor of the same name.
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": victim.uid}}
        body = msgspec.json.encode(options)
        await with_retries(lambda: self._api.delete(pod_path(victim), body), PASSING_OR_CONFLICT)
