"""Binds and provisions volumes through the API server; its controllers do the rest.

volumes ── claims ── check ──> ""                every claim has its volume
   │         │        │ └───── wait ── check     for watch events, at most a second
   │         │        └──────> error             it failed, or timed out
   └─────────┴───────────────> error             the server refused a write; earlier writes stay
"""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec import Struct

from pilotage.framework.api.handle import Api, ApiFailed, NotAllowed
from pilotage.framework.api.objects import Kind
from pilotage.kinds.storage import BOUND_BY_CONTROLLER, SELECTED_NODE, PersistentVolume, PersistentVolumeClaim
from pilotage.model.metadata import Metadata
from pilotage.model.pod import Pod
from pilotage.plugins.volumes.volume_binding.volume_progress import (
    ClusterView,
    Failed,
    Progress,
    VolumeProgress,
    Written,
)

BETWEEN_LOOKS = 1.0  # seconds; changes of nodes and pods, and missed events, are noticed as fast as in kube-scheduler
BETWEEN_PODS = 0.001  # seconds between the checks of two pods, so that thousands do not block the loop
OUT_OF_TIME = "context deadline exceeded"
NOT_ALLOWED = "volumes not bound: this scheduler is not the leader, or the pod or node no longer exists"

_Key = tuple[type[Any], str, str]


class _Version(Struct, frozen=True, gc=False, rename="camel"):
    resource_version: str


class _Versioned(Struct, frozen=True, gc=False):
    """The part of a response with the new version."""

    metadata: _Version


class VolumeWriter:
    """Binds and provisions volumes for pods."""

    def __init__(self, api: Api, view: ClusterView) -> None:
        self._api = api
        self._view = view
        self._waiting: dict[_Key, set[asyncio.Event]] = {}
        self._last_look = 0.0  # the time of the last check for any pod, by the loop's clock

    def noticed(self, changed: Kind) -> None:
        """Record that an object was added, changed or deleted."""
        for news in self._waiting.get(_key(changed), ()):
            news.set()

    async def bind(
        self,
        pod: Pod,
        node: str,
        volumes: Sequence[PersistentVolume],
        claims: Sequence[PersistentVolumeClaim],
        timeout_seconds: float,
    ) -> str:
        """Write all changes and wait until every claim has its volume; returns the error, or ""."""
        progress = VolumeProgress(self._view, pod, node)
        try:
            await self._write_all(pod, node, volumes, claims, progress)
        except NotAllowed:
            return NOT_ALLOWED
        except ApiFailed as failure:
            return str(failure)
        failed = await self._wait(progress, timeout_seconds)
        return f"binding volumes: {failed}" if failed else ""

    async def _write_all(
        self,
        pod: Pod,
        node: str,
        volumes: Sequence[PersistentVolume],
        claims: Sequence[PersistentVolumeClaim],
        progress: VolumeProgress,
    ) -> None:
        for volume in volumes:
            version = await self._write(pod, node, volume_path(volume), volume_patch(volume))
            progress.volumes.append(Written(volume, version))
        # A pod may name a claim twice, and the second write would conflict with the first.
        for claim in {each.metadata.name: each for each in claims}.values():
            version = await self._write(pod, node, claim_path(claim), claim_patch(claim))
            progress.claims.append(Written(claim, version))

    async def _write(self, pod: Pod, node: str, path: str, change: dict[str, Any]) -> str:
        """Change one object and return its new version.

        Repeating a request that took effect without a response leads to a conflict; the next attempt of the pod then
        sees the result.
        """
        answer = await self._api.patch(path, change, pod=pod, node=node, strategic=True)
        return msgspec.convert(answer, _Versioned).metadata.resource_version

    async def _wait(self, progress: VolumeProgress, seconds: float) -> str:
        """Return "" once every claim has its volume, or the error."""
        clock = asyncio.get_running_loop().time
        deadline, due = clock() + seconds, 0.0
        is_over = seconds <= 0
        with self._news_of(progress) as news:
            while (seen := progress.look()) is Progress.WAITING:
                if is_over:
                    return OUT_OF_TIME
                due = due or min(self._next_look(clock()), deadline)
                try:
                    async with asyncio.timeout_at(due):
                        await news.wait()
                except TimeoutError:
                    is_over, due = due >= deadline, 0.0
                news.clear()
        return seen.message if isinstance(seen, Failed) else ""

    def _next_look(self, now: float) -> float:
        self._last_look = max(now + BETWEEN_LOOKS, self._last_look + BETWEEN_PODS)
        return self._last_look

    @contextmanager
    def _news_of(self, progress: VolumeProgress) -> Iterator[asyncio.Event]:
        news = asyncio.Event()
        keys = {_key(written.wanted) for written in progress.volumes} | {_key(each.wanted) for each in progress.claims}
        for written in progress.volumes:
            claimed = written.wanted.spec.claim_ref
            assert claimed is not None
            keys.add((PersistentVolumeClaim, claimed.namespace, claimed.name))
        for key in keys:
            self._waiting.setdefault(key, set()).add(news)
        try:
            yield news
        finally:
            for key in keys:
                self._waiting[key].discard(news)
                if not self._waiting[key]:
                    del self._waiting[key]


def volume_path(volume: PersistentVolume) -> str:
    """Return the path of a volume."""
    return PersistentVolume.api.path(name=quote(volume.metadata.name, safe=""))


def claim_path(claim: PersistentVolumeClaim) -> str:
    """Return the path of a claim."""
    namespace, name = quote(claim.metadata.namespace, safe=""), quote(claim.metadata.name, safe="")
    return PersistentVolumeClaim.api.path(namespace, name)


def volume_patch(volume: PersistentVolume) -> dict[str, Any]:
    """Return the patch that binds a volume, in the version of the decision, to its claim."""
    marked = volume.metadata.annotations.get(BOUND_BY_CONTROLLER)
    reference = msgspec.to_builtins(volume.spec.claim_ref)
    # A reference is replaced as a whole, without fields of an older one.
    spec = {"claimRef": {**reference, "fieldPath": None}}
    metadata = _precondition(volume.metadata) | ({"annotations": {BOUND_BY_CONTROLLER: marked}} if marked else {})
    return {"metadata": metadata, "spec": spec}


def claim_patch(claim: PersistentVolumeClaim) -> dict[str, Any]:
    """Return the patch that selects the node for provisioning."""
    annotations = {SELECTED_NODE: claim.metadata.annotations[SELECTED_NODE]}
    return {"metadata": {**_precondition(claim.metadata), "annotations": annotations}}


def _precondition(metadata: Metadata) -> dict[str, Any]:
    """Return the preconditions: the server rejects the patch if the object was changed or replaced."""
    return {"uid": metadata.uid, "resourceVersion": metadata.resource_version}


def _key(thing: Kind) -> _Key:
    return type(thing), thing.metadata.namespace, thing.metadata.name
