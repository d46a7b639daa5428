"""Binds pods; a bind takes effect at most once.

post ──> Bound | Refused            the response is final, or the watch showed the result before the request
  │ └──> pause ──> post             without effect: no connection, or too many requests
  └────> GET ──> Bound | Refused    no response, or a server error: it may have taken effect
           └───> pause ──> post     it did not
"""

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any

import msgspec
from msgspec import Struct

from pilotage.cluster.transport.api_calls import CautiousApi, MaySend
from pilotage.cluster.transport.api_errors import ApiError, OutcomeUnknown, Withheld
from pilotage.cluster.transport.retry_delay import RetryDelay
from pilotage.cluster.write.bind_outcomes import BindOutcome, Bound, Refusal, Refused, Unknown, read_refusal
from pilotage.cluster.write.pod_paths import binding_path, pod_path
from pilotage.cluster.write.write_retries import FAILURES, PASSING, Failure, asked_pause, pause_after, words_of
from pilotage.model.pod import Pod

log = logging.getLogger(__name__)

# The node on which a watch saw the pod, "" if the pod was deleted, None if the watch has ended.
Sighting = asyncio.Future[str | None]

_OUT_OF_TIME = 504
_PASSING = PASSING | {_OUT_OF_TIME}
_NOT_ALLOWED = Refused(
    Refusal.NOT_ALLOWED,
    "not bound: this scheduler is not the leader, or the pod or node was deleted or the pod does not fit any more",
)


class _Identity(Struct, frozen=True, gc=False):
    uid: str = ""


class _Place(Struct, frozen=True, gc=False, rename="camel"):
    node_name: str = ""


class _PlacedPod(Struct, frozen=True, gc=False):
    """The part of a pod that contains its node."""

    metadata: _Identity = _Identity()
    spec: _Place = _Place()


_decode_placed = msgspec.json.Decoder(_PlacedPod).decode


def binding_body(pod: Pod, node: str) -> bytes:
    """Return the Binding of a pod, identified by UID, to a node."""
    return msgspec.json.encode(
        {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid},
            "target": {"kind": "Node", "name": node},
        }
    )


class Binder:
    """Binds pods; `may_bind` is called right before every attempt is sent."""

    def __init__(self, api: CautiousApi, may_bind: Callable[[Pod, str], bool]) -> None:
        self._api = api
        self._may_bind = may_bind

    async def bind(self, pod: Pod, node: str, resolved: Sighting | None = None) -> BindOutcome:
        """Bind a pod, and return when the outcome is certain or `resolved` reports it."""
        path, body = binding_path(pod), binding_body(pod, node)
        may_send = partial(self._may_send, pod, node, resolved)
        for attempt in count():
            failure = await self._post(path, body, may_send)
            if failure is None:
                return Bound()
            if isinstance(failure, Withheld):
                return _seen_outcome(pod, node, resolved) or _NOT_ALLOWED
            if isinstance(failure, ApiError) and (outcome := read_refusal(failure, node)):
                return outcome
            if _can_have_worked(failure) and (seen := await self._look(pod, node, resolved)):
                return seen
            pause = pause_after(attempt, failure, _PASSING)
            if pause is None:
                return _seen_outcome(pod, node, resolved) or Refused(Refusal.FAILED, words_of(failure))
            await asyncio.sleep(pause)
        raise AssertionError("count() does not end")

    def _may_send(self, pod: Pod, node: str, resolved: Sighting | None) -> bool:
        return (resolved is None or not resolved.done()) and self._may_bind(pod, node)

    async def _post(self, path: str, body: bytes, may_send: MaySend) -> Failure | Withheld | None:
        try:
            await self._api.post(path, body, may_send=may_send)
        except (*FAILURES, Withheld) as failure:
            return failure
        return None

    async def _look(self, pod: Pod, node: str, resolved: Sighting | None) -> BindOutcome | None:
        """Return the outcome for the pod; None if it has no node."""
        asking = asyncio.ensure_future(self._ask(pod))
        try:
            answers: list[asyncio.Future[Any]] = [asking] if resolved is None else [asking, resolved]
            await asyncio.wait(answers, return_when=asyncio.FIRST_COMPLETED)
            return _seen_outcome(pod, node, resolved) or _outcome_of(pod, node, asking.result())
        finally:
            asking.cancel()

    async def _ask(self, pod: Pod) -> _PlacedPod | None:
        """Return the pod of that name, with unlimited retries; None if it does not exist."""
        delay = RetryDelay(first=0.1, longest=5.0)
        while True:
            try:
                return _decode_placed(await self._api.get(pod_path(pod)))
            except FAILURES as failure:
                if isinstance(failure, ApiError) and failure.status == 404:
                    return None
                log.warning("pod %s may have been bound, and reading it failed: %s", pod.key, words_of(failure))
                pause = max(delay.next(), asked_pause(failure))
            except msgspec.MsgspecError as error:
                log.warning("pod %s may have been bound, and the response is not a pod: %s", pod.key, error)
                pause = delay.next()
            await asyncio.sleep(pause)


def _can_have_worked(failure: Failure) -> bool:
    """Return whether the pod may have been bound despite the error, so that it must be read before a retry."""
    if isinstance(failure, ApiError):
        return failure.status == 409 or failure.status >= 500  # 409: a conflict with an unknown message
    return isinstance(failure, OutcomeUnknown)


def _seen_outcome(pod: Pod, node: str, resolved: Sighting | None) -> BindOutcome | None:
    """Return the outcome shown by the watch; None if there is none yet."""
    if resolved is None or not resolved.done():
        return None
    found = None if resolved.cancelled() else resolved.result()
    return Unknown() if found is None else _outcome_of(pod, node, _seen(pod, found))


def _seen(pod: Pod, node: str) -> _PlacedPod | None:
    return _PlacedPod(_Identity(pod.uid), _Place(node)) if node else None


def _outcome_of(pod: Pod, node: str, found: _PlacedPod | None) -> Bound | Refused | None:
    if found is None:
        return Refused(Refusal.GONE, f'pods "{pod.name}" not found')
    if found.metadata.uid != pod.uid:
        return Refused(Refusal.GONE, f'pods "{pod.name}" was replaced by another pod of that name')
    if not found.spec.node_name:
        return None
    if found.spec.node_name == node:
        return Bound()
    return Refused(Refusal.ELSEWHERE, f'pod {pod.name} is already assigned to node "{found.spec.node_name}"')
