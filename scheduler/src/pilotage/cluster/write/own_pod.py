"""Writes annotations and labels of the pod that this process runs in."""

import asyncio
import json
import logging
from collections.abc import Mapping
from contextlib import suppress

from pilotage.cluster.transport.api_client import ApiClient
from pilotage.cluster.transport.api_errors import ApiError, OutcomeUnknown, Unreachable

log = logging.getLogger(__name__)

MOMENT = 1.0  # seconds
PAUSES = (0.1, 0.5, 1.0, 2.0, 5.0)  # seconds between tries; the last one is repeated
MERGE_PATCH = "application/merge-patch+json"
UNLIKELY_TO_PASS = {400, 401, 403, 404, 422}  # unlikely to succeed with a retry, so retried at the slowest pace


async def annotate_once(api: ApiClient, namespace: str, name: str, annotations: Mapping[str, str | None]) -> None:
    """Write annotations of a pod, without retries."""
    body = json.dumps({"metadata": {"annotations": annotations}}).encode()
    try:
        await api.patch(_path(namespace, name), body, content_type=MERGE_PATCH, timeout=5.0)
    except (ApiError, Unreachable, OutcomeUnknown) as error:
        log.warning("cannot write annotations of our own pod: %s", error)


def _path(namespace: str, name: str) -> str:
    # This subresource also accepts annotations, and write access to it cannot change what a pod runs.
    return f"/api/v1/namespaces/{namespace}/pods/{name}/status"


class OwnPod:
    """Writes the newest annotations, with retries."""

    def __init__(self, api: ApiClient, namespace: str, name: str) -> None:
        self._api = api
        self._path = _path(namespace, name)
        self._wanted: dict[str, str | None] = {}
        self._labels: dict[str, str | None] = {}
        self._news = asyncio.Event()
        self._is_written = asyncio.Event()
        self._complaint = ""

    def annotate(self, annotations: Mapping[str, str | None]) -> None:
        """Set annotations in the background; None removes one."""
        if {**self._wanted, **annotations} != self._wanted:
            self._wanted.update(annotations)
            self._is_written.clear()
            self._news.set()

    def label(self, labels: Mapping[str, str | None]) -> None:
        """Set labels in the background; None removes one."""
        if {**self._labels, **labels} != self._labels:
            self._labels.update(labels)
            self._is_written.clear()
            self._news.set()

    async def written(self) -> None:
        """Wait briefly until the annotations are written; nothing may depend on them."""
        with suppress(TimeoutError):
            async with asyncio.timeout(MOMENT):
                await self._is_written.wait()

    async def run(self) -> None:
        """Write until cancelled."""
        while True:
            await self._news.wait()
            self._news.clear()
            await self._write()

    async def _write(self) -> None:
        tries = 0
        while True:
            try:
                await self._api.patch(self._path, self._body(), content_type=MERGE_PATCH, timeout=10.0)
            except (ApiError, Unreachable, OutcomeUnknown) as error:
                self._log_once(error)
                hopeless = isinstance(error, ApiError) and error.status in UNLIKELY_TO_PASS
                await asyncio.sleep(PAUSES[-1] if hopeless else PAUSES[min(tries, len(PAUSES) - 1)])
                tries += 1
            else:
                self._complaint = ""
                if not self._news.is_set():
                    self._is_written.set()
                return

    def _body(self) -> bytes:
        labels = {"labels": self._labels} if self._labels else {}
        return json.dumps({"metadata": {"annotations": self._wanted, **labels}}).encode()

    def _log_once(self, error: Exception) -> None:
        if str(error) != self._complaint:  # once
            log.warning("cannot write annotations of our own pod, its role may lack patch of pods/status: %s", error)
        self._complaint = str(error)
