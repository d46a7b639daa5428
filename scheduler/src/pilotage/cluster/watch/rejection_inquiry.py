"""Determines why pods disappeared from the watch before they ran.

The watch selects unfinished pods, so a failed pod only appears as deleted, with its previous state. The new state is
read once, for the few pods that were neither deleted nor started.
"""

import asyncio
import logging
from collections.abc import Callable

import msgspec
from msgspec import Struct

from pilotage.cluster.transport.api_errors import ApiError, OutcomeUnknown, Unreachable
from pilotage.cluster.watch.listing import GetApi
from pilotage.cluster.write.pod_paths import pod_path
from pilotage.model.kubelet_rejection import KubeletRejection, read_rejection
from pilotage.model.pod import Pod

log = logging.getLogger(__name__)

MOST_WAITING = 1000  # queued pods; further ones are skipped and counted
AT_ONCE = 4

OnRejected = Callable[[Pod, KubeletRejection], None]


class _Identity(Struct, frozen=True, gc=False):
    uid: str = ""


class _Container(Struct, frozen=True, gc=False):
    container_id: str = msgspec.field(default="", name="containerID")


class _Status(Struct, frozen=True, gc=False, rename="camel"):
    phase: str = ""
    reason: str = ""
    message: str = ""
    container_statuses: tuple[_Container, ...] = ()
    init_container_statuses: tuple[_Container, ...] = ()

    @property
    def has_run(self) -> bool:
        """Return whether any container was created."""
        return any(each.container_id for each in (*self.container_statuses, *self.init_container_statuses))


class _EndedPod(Struct, frozen=True, gc=False):
    """The part of a pod that shows how it ended."""

    metadata: _Identity = _Identity()
    status: _Status = _Status()


_decode = msgspec.json.Decoder(_EndedPod).decode


def rejection_in(body: bytes, uid: str) -> KubeletRejection | None:
    """Return why a kubelet rejected the pod with this uid, if a race may be the cause."""
    found = _decode(body)
    status = found.status
    if found.metadata.uid != uid or status.phase != "Failed" or status.has_run:
        return None
    return read_rejection(status.reason, status.message)


class RejectionInquiry:
    """Reads pods from the API server, a few at a time, and reports those that a kubelet rejected."""

    def __init__(self, api: GetApi, on_rejected: OnRejected) -> None:
        self._api = api
        self._on_rejected = on_rejected
        self._waiting: asyncio.Queue[Pod] = asyncio.Queue(MOST_WAITING)
        self.passed_over = 0

    def ask_about(self, pod: Pod) -> None:
        """Queue an inquiry about a pod that names its node, without waiting."""
        try:
            self._waiting.put_nowait(pod)
        except asyncio.QueueFull:
            self.passed_over += 1

    async def run(self) -> None:
        """Inquire until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(AT_ONCE):
                group.create_task(self._work())

    async def _work(self) -> None:
        while True:
            pod = await self._waiting.get()
            try:
                rejection = rejection_in(await self._api.get(pod_path(pod)), pod.uid)
                if rejection is not None:
                    self._on_rejected(pod, rejection)
            except (ApiError, Unreachable, OutcomeUnknown, msgspec.MsgspecError) as error:
                log.debug("cannot determine why pod %s ended: %s", pod.key, error)  # most are deleted
            except Exception:  # only this pod's rejection is lost
                log.exception("cannot process the rejection of pod %s", pod.key)
