"""Writes claims: finalizer, devices and consumers; every answer counts before the watch shows it.

look ── deleted, or devices that are not ours ──────────────────────────> refused
  │ <─────────────── GET ─────────────────┬───────────────┐ at most five times
  ├── finalizer is missing ── add it ─────┤               │
  └── status: devices and consumers ── conflict, or no answer
          └── written ──> assumed         └── and no answer to GET either ──> in doubt
"""

import asyncio
import random
from collections.abc import Coroutine, Sequence
from typing import Any

from pilotage.framework.api.handle import ApiFailed, Handle, NotAllowed
from pilotage.framework.api.verdicts import PluginFailed
from pilotage.kinds.devices import DELETE_PROTECTION, Allocation, ResourceClaim
from pilotage.model.moments import written
from pilotage.model.pod import Pod
from pilotage.plugins.devices.dynamic_resources.claim_bodies import (
    are_same_devices,
    as_allocated,
    consumer,
    is_only_for,
    is_reserved_for,
    stamped,
)
from pilotage.plugins.devices.dynamic_resources.claim_lanes import ClaimLanes, Lane
from pilotage.plugins.devices.dynamic_resources.claim_requests import (
    NOT_FOUND,
    TRIES,
    ClaimRequests,
    is_conflict,
    is_open,
)
from pilotage.plugins.devices.dynamic_resources.claims_ledger import ClaimsLedger
from pilotage.plugins.devices.dynamic_resources.pod_claims import claim_id, key_of

MOST_CONSUMERS = 256  # of one claim
PAUSE = 0.010  # seconds before another try after a conflict
JITTER = 0.1
BETWEEN_LOOKS = 1.0  # seconds between two looks at a claim whose write got no answer
LOOKS = 3  # at an unchanged claim, after which a write without an answer has not taken effect

NOT_ALLOWED = "devices not allocated: this scheduler is not the leader, or the pod or node no longer exists"
GIVEN_UP = "devices not allocated: the scheduler stops"


class WriteFailed(PluginFailed):
    """A claim could not be written; the text is kube-scheduler's."""


class Reservation:
    """A pod that wants to use a claim, and the devices that the claim gets if it has none."""

    def __init__(
        self, writer: "ClaimWriter", claim: ResourceClaim, pod: Pod, node: str, allocation: Allocation | None
    ) -> None:
        self._writer = writer
        self.claim = claim  # as it was at the decision
        self.pod = pod
        self.node = node
        self.allocation = allocation
        self.was_sent = False  # whatever came of it
        self.done: asyncio.Future[ResourceClaim] = asyncio.get_running_loop().create_future()

    async def run(self, lane: Lane) -> None:
        """Write the next consumers of this claim, all at once."""
        batch = [self]
        room = MOST_CONSUMERS - len(self._writer.latest(self.claim).status.reserved_for)
        while len(batch) < room and lane and isinstance(following := lane[0], Reservation):
            batch.append(following)
            lane.popleft()
        try:
            await self._writer.reserve_all(batch)
        finally:
            for each in batch:
                each.give_up()

    def give_up(self) -> None:
        """Fail, unless there is an outcome."""
        self.fail(WriteFailed(GIVEN_UP))

    def fail(self, error: Exception) -> None:
        """Report an error to the pod."""
        if not self.done.done():
            self.done.set_exception(error)
            self.done.exception()  # the pod may not wait any more

    def succeed(self, claim: ResourceClaim) -> None:
        """Report the written claim to the pod."""
        if not self.done.done():
            self.done.set_result(claim)


class Withdrawal:
    """A pod that will not use a claim."""

    def __init__(self, writer: "ClaimWriter", claim: ResourceClaim, pod: Pod, reservation: Reservation | None) -> None:
        self._writer, self._claim, self._pod, self._reservation = writer, claim, pod, reservation

    async def run(self, lane: Lane) -> None:
        """Remove the pod from the consumers, if it is or may be among them."""
        latest = self._writer.latest(self._claim)
        if is_reserved_for(latest, self._pod) or (self._reservation is not None and self._reservation.was_sent):
            await self._writer.withdraw(latest, self._pod)

    def give_up(self) -> None:
        """Nobody waits."""


class Deallocation:
    """A claim that keeps a pod from all nodes, although no other pod uses it."""

    def __init__(self, writer: "ClaimWriter", claim: ResourceClaim, pod: Pod) -> None:
        self._writer, self._claim, self._pod = writer, claim, pod

    async def run(self, lane: Lane) -> None:
        """Free the devices, unless the claim is used now."""
        latest = self._writer.latest(self._claim)
        if latest.status.allocation is not None and is_only_for(latest, self._pod):
            await self._writer.deallocate(latest, self._pod)

    def give_up(self) -> None:
        """Nobody waits."""


class ClaimWriter:
    """Writes claims for the pods of one profile, in the lanes of all profiles."""

    def __init__(self, handle: Handle, ledger: ClaimsLedger, lanes: ClaimLanes) -> None:
        self._handle = handle
        self._ledger = ledger
        self._lanes = lanes
        self.requests = ClaimRequests(handle.api, self._confirm)
        self._reservations: dict[tuple[str, str], Reservation] = {}  # by the ids of claim and pod, until finished
        self._tasks: set[asyncio.Task[None]] = set()

    # ------------------------------------------------------------------------------------------ for pods

    async def reserve(self, claim: ResourceClaim, pod: Pod, node: str, allocation: Allocation | None) -> ResourceClaim:
        """Make the pod a consumer of a claim, which gets devices if some are given; WriteFailed with the reason."""
        uid, reservation = claim_id(claim), Reservation(self, claim, pod, node, allocation)
        self._reservations[uid, pod.uid] = reservation
        self._lanes.add(uid, reservation)
        return await asyncio.shield(reservation.done)

    def finish(self, claim: ResourceClaim, pod: Pod) -> None:
        """Note that the pod keeps its reservation."""
        self._reservations.pop((claim_id(claim), pod.uid), None)

    def start_withdrawal(self, claim: ResourceClaim, pod: Pod) -> None:
        """Remove the pod from the consumers in the background, after its own writes."""
        uid = claim_id(claim)
        reservation = self._reservations.pop((uid, pod.uid), None)
        if reservation is not None or is_reserved_for(self.latest(claim), pod):
            self._lanes.add(uid, Withdrawal(self, claim, pod, reservation))

    def start_deallocation(self, claim: ResourceClaim, pod: Pod) -> None:
        """Free the devices of a claim in the background."""
        self._lanes.add(claim_id(claim), Deallocation(self, claim, pod))

    def latest(self, claim: ResourceClaim) -> ResourceClaim:
        """Return the newest known state of a claim."""
        return self._ledger.latest(claim_id(claim)) or claim

    # ------------------------------------------------------------------------------------------ reservations

    async def reserve_all(self, batch: Sequence[Reservation]) -> None:
        """Write the consumers of one claim at once; if the server refuses that, one by one."""
        left = list(batch)
        while left:
            try:
                answer = await self._reserve(left)
            except NotAllowed:
                left.pop(0).fail(WriteFailed(NOT_ALLOWED))  # its pod or node is gone, which is not so for all
            except WriteFailed as failed:
                for each in left:
                    each.fail(failed)
                return
            except ApiFailed as refused:
                if len(left) > 1:
                    for each in left:
                        await self.reserve_all([each])
                else:
                    left[0].fail(WriteFailed(str(refused)))
                return
            else:
                for each in left:
                    each.succeed(answer)
                return

    async def _reserve(self, batch: Sequence[Reservation]) -> ResourceClaim:
        latest = self.latest(batch[0].claim)
        for attempt in range(1, TRIES + 1):
            try:
                return await self._try(batch, latest)
            except ApiFailed as failure:
                if isinstance(failure, NotAllowed) or not (is_conflict(failure) or is_open(failure)):
                    raise
                if attempt == TRIES:
                    raise self._gave_up(batch, failure) from failure
                latest = await self._read_again(batch, latest, failure)
        raise AssertionError("the last try returns or raises")

    async def _try(self, batch: Sequence[Reservation], latest: ResourceClaim) -> ResourceClaim:
        """Write once, on this state of the claim."""
        first = batch[0]
        allocation = _wanted(batch, latest)
        if allocation is not None and DELETE_PROTECTION not in latest.metadata.finalizers:
            latest = await self.requests.protect(latest, first.pod, first.node)
        missing = dict.fromkeys(consumer(each.pod) for each in batch if not is_reserved_for(latest, each.pod))
        if not missing and allocation is None:
            return latest
        if allocation is not None:
            allocation = stamped(allocation, written(self._handle.clock()))
        for each in batch:
            each.was_sent = True
        consumers = [*latest.status.reserved_for, *missing]
        return await self.requests.reserve(latest, consumers, allocation, first.pod, first.node)

    async def _read_again(
        self, batch: Sequence[Reservation], latest: ResourceClaim, failure: ApiFailed
    ) -> ResourceClaim:
        """Return the claim as it is now, after a conflict or a write without an answer."""
        await asyncio.sleep(PAUSE * random.uniform(1 - JITTER, 1 + JITTER))  # noqa: S311 - no secret
        try:
            found = await self.requests.get(latest)
        except ApiFailed as error:
            if error.status == NOT_FOUND:
                raise WriteFailed(f"claim {key_of(latest)} got deleted in the meantime") from error
            if is_open(failure):
                raise self._gave_up(batch, failure) from failure
            raise WriteFailed(f"get updated claim {key_of(latest)} after conflict: {error}") from error
        return self._confirm(found) if claim_id(found) == claim_id(latest) else found

    def _gave_up(self, batch: Sequence[Reservation], failure: ApiFailed) -> WriteFailed:
        """Return the error of the last try; devices whose write may have taken effect stay taken."""
        allocation = next((each.allocation for each in batch if each.allocation is not None), None)
        if allocation is not None and is_open(failure) and any(each.was_sent for each in batch):
            latest = self.latest(batch[0].claim)
            self._ledger.doubt(latest, allocation)
            self._start(self._resolve(latest, allocation))
        return WriteFailed(str(failure))

    async def _resolve(self, claim: ResourceClaim, allocation: Allocation) -> None:
        """Find out what became of a write without an answer."""
        uid, looks = claim_id(claim), 0
        while looks < LOOKS and self._ledger.is_doubted(uid):
            await asyncio.sleep(BETWEEN_LOOKS)
            try:
                found = await self.requests.get(claim)
            except ApiFailed as failure:
                if failure.status != NOT_FOUND:
                    continue
                break
            if claim_id(found) != uid:
                break
            self._confirm(found)
            looks += 1
        if self._ledger.is_doubted(uid):
            self._ledger.settle(uid)
            self._handle.announce(as_allocated(claim, allocation), claim)

    # ------------------------------------------------------------------------------------------ all other writes

    async def withdraw(self, claim: ResourceClaim, pod: Pod) -> None:
        """Remove a consumer; if that fails, it stays until the pod is gone or uses the claim after all."""
        try:
            await self.requests.withdraw(claim, pod)
        except ApiFailed as failure:
            self._handle.log.warning("unreserve claim %s for pod %s: %s", key_of(claim), pod.key, failure)

    async def deallocate(self, claim: ResourceClaim, pod: Pod) -> None:
        """Free the devices of a claim; if that fails, the pod tries again later."""
        try:
            await self.requests.deallocate(claim)
        except ApiFailed as failure:
            self._handle.log.warning("deallocate claim %s for pod %s: %s", key_of(claim), pod.key, failure)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _confirm(self, claim: ResourceClaim) -> ResourceClaim:
        """Take over a state that the server has answered, and retry the pods that it helps."""
        before = self.latest(claim)
        if self._ledger.assume(claim):
            self._handle.announce(None if before is claim else before, claim)
        return claim


def _wanted(batch: Sequence[Reservation], latest: ResourceClaim) -> Allocation | None:
    """Return the devices that the claim still has to get; WriteFailed if it cannot be used as decided."""
    key, now = key_of(latest), latest.status.allocation
    if latest.metadata.deletion_timestamp is not None or claim_id(latest) != claim_id(batch[0].claim):
        raise WriteFailed(f"claim {key} got deleted in the meantime")
    allocation = next((each.allocation for each in batch if each.allocation is not None), None)
    if allocation is None:
        if now is None:
            raise WriteFailed(f"claim {key} got deallocated elsewhere in the meantime")
        return None
    if now is None:
        return allocation
    if not are_same_devices(allocation, now):
        raise WriteFailed(f"claim {key} got allocated elsewhere in the meantime")
    return None  # written by us without an answer, or by another pod that shares the decision
