"""Pods that have a node and wait on permit.

   waiting ── allow by the last pending plugin ───> continues to its bind
      ├────── reject, or a plugin's time-out ─────> requeued as rejected
      └────── preempt ────────────────────────────> requeued for a retry soon

The first decision counts.
"""

import asyncio
from collections.abc import Iterator, Mapping
from time import perf_counter

from pilotage.config.durations import Duration
from pilotage.framework.api.signal import Signal
from pilotage.framework.api.verdicts import PluginFailed, Rejection, Wait
from pilotage.model.pod import Pod

REMOVED = "removed"


class WaitingPod:
    """One pod, and the plugins that have not allowed it yet."""

    def __init__(self, pod: Pod, waits: Mapping[str, Wait]) -> None:
        self.pod = pod  # on its node
        loop = asyncio.get_running_loop()
        self._decision: asyncio.Future[Rejection | None] = loop.create_future()
        self._timers = {
            plugin: loop.call_later(max(wait.seconds, 0), self._time_is_up, plugin, wait.seconds)
            for plugin, wait in waits.items()
        }

    @property
    def pending_plugins(self) -> frozenset[str]:
        """Return the plugins that have not allowed the pod yet."""
        return frozenset(self._timers)

    def allow(self, plugin: str) -> None:
        """Allow the pod for one plugin; after the last one the pod continues."""
        timer = self._timers.pop(plugin, None)
        if timer is None:
            return
        timer.cancel()
        if not self._timers and not self._decision.done():
            self._decision.set_result(None)

    def reject(self, plugin: str, message: str) -> bool:
        """Reject the pod; False if it was already decided."""
        return self._decide(Rejection(message, plugin=plugin))

    def preempt(self, message: str) -> bool:
        """Return the pod to the queue without a rejection; False if it was already decided."""
        if self._decision.done():
            return False
        self._decision.set_exception(PluginFailed(f"waiting on permit for pod: {message}"))
        return True

    async def decision(self) -> Rejection | None:
        """Wait for the decision: None approves the pod; PluginFailed if it was preempted."""
        try:
            return await self._decision
        finally:
            self.close()

    def close(self) -> None:
        """Ignore later decisions."""
        for timer in self._timers.values():
            timer.cancel()
        if not self._decision.cancel() and not self._decision.cancelled():
            self._decision.exception()  # mark it as retrieved

    def _time_is_up(self, plugin: str, seconds: float) -> None:
        waited = Duration(round(seconds * 1_000_000_000))
        self.reject(plugin, f"rejected due to timeout after waiting {waited} at plugin {plugin}")

    def _decide(self, rejection: Rejection) -> bool:
        if self._decision.done():
            return False
        self._decision.set_result(rejection)
        return True


class WaitingPods:
    """All waiting pods of all profiles, by uid."""

    def __init__(self) -> None:
        self._waiting: dict[str, WaitingPod] = {}
        self.on_ended: Signal[str, float] = Signal()  # the result, and the seconds waited

    def __len__(self) -> int:
        return len(self._waiting)

    def __iter__(self) -> Iterator[WaitingPod]:
        return iter(list(self._waiting.values()))

    def get(self, uid: str) -> WaitingPod | None:
        """Return a waiting pod."""
        return self._waiting.get(uid)

    def remove(self, uid: str) -> bool:
        """Preempt a pod that is no longer needed; False if it does not wait."""
        waiting = self._waiting.get(uid)
        return waiting is not None and waiting.reject("", REMOVED)

    def expect(self, pod: Pod, waits: Mapping[str, Wait]) -> None:
        """Register a waiting pod; plugins can find it immediately."""
        self._waiting[pod.uid] = WaitingPod(pod, waits)

    def forget(self, uid: str) -> None:
        """Remove a pod whose binding cycle ended before `wait` was called."""
        waiting = self._waiting.pop(uid, None)
        if waiting is not None:
            waiting.close()

    async def wait(self, uid: str) -> Rejection | None:
        """Wait for the decision about a pod registered with `expect`."""
        started, result = perf_counter(), "Error"
        try:
            rejection = await self._waiting[uid].decision()
            result = "Success" if rejection is None else "Unschedulable"
            return rejection
        finally:
            del self._waiting[uid]
            self.on_ended(result, perf_counter() - started)
