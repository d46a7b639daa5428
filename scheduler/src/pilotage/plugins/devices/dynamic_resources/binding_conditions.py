"""Devices that have to be prepared before pods can use them: their drivers say when they are, or that it failed."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from pilotage.framework.api.handle import Handle
from pilotage.framework.api.verdicts import PluginFailed
from pilotage.kinds.devices import AllocatedDevice, Condition, ResourceClaim
from pilotage.model.go_text import quoted
from pilotage.model.moments import seconds_of
from pilotage.model.pod import Pod
from pilotage.plugins.devices.dynamic_resources.device_world import DeviceWorld
from pilotage.plugins.devices.dynamic_resources.pod_claims import claim_id, key_of
from pilotage.telemetry.histograms import exponential

BETWEEN_LOOKS = 5.0  # seconds between two looks if nothing is heard of the claims
TRUE = "True"
SUCCESS, FAILURE, TIMEOUT, ERROR = "success", "failure", "timeout", "error"
OUT_OF_TIME = "device binding timeout: context deadline exceeded"


class Preparation(NamedTuple):
    """Whether all devices of a claim are ready, and if that can no longer happen, why."""

    is_ready: bool
    problem: str = ""
    status: str = SUCCESS


READY, NOT_READY = Preparation(True), Preparation(False)


def preparation(claim: ResourceClaim, now: float, seconds: float) -> Preparation:
    """Return how far the preparation of a claim's devices is, which may take this long."""
    found = _as_reported(claim)
    if found is NOT_READY and _is_late(claim, now, seconds):
        return Preparation(False, f"device binding timeout: claim={claim.metadata.name}", TIMEOUT)
    return found


def _as_reported(claim: ResourceClaim) -> Preparation:
    for device in with_conditions(claim):
        conditions = _conditions(claim, device)
        for failure in device.binding_failure_conditions:
            if (reported := conditions.get(failure)) is not None and reported.status == TRUE:
                why = f"reason={reported.reason}, message={quoted(reported.message)}"
                return Preparation(False, f"device binding failed: claim={claim.metadata.name}, {why}", FAILURE)
        if any((got := conditions.get(each)) is None or got.status != TRUE for each in device.binding_conditions):
            return NOT_READY
    return READY


def with_conditions(claim: ResourceClaim) -> Iterator[AllocatedDevice]:
    """Yield the devices of a claim that have to be prepared."""
    if claim.status.allocation is not None:
        yield from (each for each in claim.status.allocation.devices.results if each.binding_conditions)


def _conditions(claim: ResourceClaim, device: AllocatedDevice) -> dict[str, Condition]:
    place = (device.driver, device.pool, device.device)
    for each in claim.status.devices:
        if (each.driver, each.pool, each.device) == place:
            return {condition.type: condition for condition in each.conditions}
    return {}


def _is_late(claim: ResourceClaim, now: float, seconds: float) -> bool:
    allocation = claim.status.allocation
    begun = None if allocation is None else seconds_of(allocation.allocation_timestamp)
    return begun is not None and begun + seconds < now


class Preparations:
    """Waits until the devices of pods are ready."""

    def __init__(self, handle: Handle, world: DeviceWorld, seconds: float) -> None:
        self._handle = handle
        self._world = world
        self._seconds = seconds
        metrics = handle.metrics
        self._allocations = metrics.counter(
            "bindingconditions_allocations_total",
            "Devices that had to be prepared, by the outcome of the pod's attempt",
            ("driver", "status"),
        )
        self._durations = metrics.histogram(
            "bindingconditions_wait_duration_seconds",
            "How long pods waited for their devices to be prepared",
            ("driver", "status"),
            bounds=exponential(0.1, 2, 14),
        )

    async def wait(self, pod: Pod, node: str, claims: Sequence[ResourceClaim]) -> None:
        """Return when all devices are ready; PluginFailed if one of them failed, or it took too long."""
        if not any(True for claim in claims for _ in with_conditions(claim)):
            return
        note = f"waiting for binding conditions for device on node {node}"
        self._handle.events.record(pod, "BindingConditionsPending", note)
        clock = asyncio.get_running_loop().time
        begun, status = clock(), ERROR
        try:
            outcome = await self._outcome(claims, begun + self._seconds)
            status = outcome.status
        finally:
            self._count(claims, status, clock() - begun)
        if outcome.problem:
            raise PluginFailed(outcome.problem)

    async def _outcome(self, claims: Sequence[ResourceClaim], deadline: float) -> Preparation:
        clock = asyncio.get_running_loop().time
        with self._news_of(claims) as news:
            while not (found := self._look(claims)).is_ready and not found.problem:
                if clock() >= deadline:
                    return Preparation(False, OUT_OF_TIME, TIMEOUT)
                try:
                    async with asyncio.timeout_at(min(deadline, clock() + BETWEEN_LOOKS)):
                        await news.wait()
                except TimeoutError:
                    pass
                news.clear()
        return found

    def _look(self, claims: Sequence[ResourceClaim]) -> Preparation:
        """Return the outcome for all claims together, as they are now."""
        self._world.catch_up(self._handle.objects)
        now, all_ready = self._handle.clock(), True
        for each in claims:
            claim = self._world.claims.latest(claim_id(each))
            if claim is None:
                return Preparation(False, f'could not find ResourceClaim "{key_of(each)}"', ERROR)
            if claim.status.allocation is None:
                return Preparation(False, f"claim {key_of(each)} got deallocated elsewhere in the meantime", ERROR)
            found = preparation(claim, now, self._seconds)
            if found.problem:
                return found
            all_ready &= found.is_ready
        return READY if all_ready else NOT_READY

    @contextmanager
    def _news_of(self, claims: Sequence[ResourceClaim]) -> Iterator[asyncio.Event]:
        news = asyncio.Event()
        for claim in claims:
            self._world.listeners.setdefault(claim_id(claim), set()).add(news)
        try:
            yield news
        finally:
            for claim in claims:
                self._world.stop_listening(claim_id(claim), news)

    def _count(self, claims: Sequence[ResourceClaim], status: str, seconds: float) -> None:
        for claim in claims:
            for device in with_conditions(claim):
                self._allocations.add(device.driver, status)
            if claim.status.allocation is not None:
                for device in claim.status.allocation.devices.results:
                    self._durations.observe(seconds, device.driver, status)
