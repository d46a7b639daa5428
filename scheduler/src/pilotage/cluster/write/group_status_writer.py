"""Writes the status of Kubernetes' own PodGroups in the background: only the newest state, and only changes.

A scheduled group stays scheduled, whatever happens to its pods later.
"""

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from urllib.parse import quote

from pilotage.cluster.transport.api_calls import Api
from pilotage.cluster.write.status_patch import NewCondition, StatusChange, patch_body
from pilotage.cluster.write.write_retries import FAILURES, PASSING_OR_CONFLICT, means_gone, with_retries, words_of
from pilotage.kinds.pod_groups import INITIALLY_SCHEDULED, NativePodGroup
from pilotage.model.gangs import GangName

log = logging.getLogger(__name__)

SCHEDULED = "Scheduled"
_MOST_REMEMBERED = 2_000  # the watch is never that many writes behind
_FORBIDDEN = 403

Said = tuple[str, str, str]  # status, reason, message


class GroupStatusWriter:
    """Keeps one condition of groups up to date; `newest` returns the last known state of one, None if deleted."""

    def __init__(
        self, api: Api, newest: Callable[[GangName], NativePodGroup | None], clock: Callable[[], float] = time.time
    ) -> None:
        self._api = api
        self._newest = newest
        self._clock = clock
        self._waiting: OrderedDict[GangName, Said] = OrderedDict()
        self._written: OrderedDict[str, Said] = OrderedDict()  # by uid, least recently used first
        self._news = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()

    def scheduled(self, gang: GangName) -> None:
        """Set the condition that enough pods of a group are scheduled."""
        self._put(gang, ("True", SCHEDULED, ""))

    def waits(self, gang: GangName, reason: str, message: str) -> None:
        """Set the condition that a group is not scheduled."""
        if self._waiting.get(gang, ("", "", ""))[0] != "True":
            self._put(gang, ("False", reason, message))

    async def flush(self) -> None:
        """Wait until all changes are written."""
        await self._idle.wait()

    async def run(self) -> None:
        """Write, until cancelled."""
        while True:
            await self._news.wait()
            self._news.clear()
            while self._waiting:
                gang, said = self._waiting.popitem(last=False)
                try:
                    await self._write(gang, said)
                except Exception:
                    log.exception("the status of PodGroup %s was not written", gang)  # must not stop the others
            self._idle.set()

    def _put(self, gang: GangName, said: Said) -> None:
        self._waiting[gang] = said
        self._idle.clear()
        self._news.set()

    async def _write(self, gang: GangName, said: Said) -> None:
        group = self._newest(gang)
        if group is None or said == self._known(group) or self._known(group)[0] == "True":
            return
        uid = group.metadata.uid
        change = StatusChange(NewCondition(INITIALLY_SCHEDULED, *said, group.metadata.generation))
        body = patch_body(uid, change, group.status, self._clock())
        try:
            await with_retries(lambda: self._api.patch(_status_path(gang), body), PASSING_OR_CONFLICT)
        except FAILURES as failure:
            if means_gone(failure):
                return
            log.warning("the status of PodGroup %s was not written: %s", gang, words_of(failure))
            if getattr(failure, "status", None) != _FORBIDDEN:  # a forbidden write is not retried
                return
        self._written[uid] = said
        if len(self._written) > _MOST_REMEMBERED:
            self._written.popitem(last=False)

    def _known(self, group: NativePodGroup) -> Said:
        """Return the last known condition of a group: our own, otherwise from the watch."""
        shown = group.status.condition(INITIALLY_SCHEDULED)
        said = ("", "", "") if shown is None else (shown.status, shown.reason, shown.message)
        return said if said[0] == "True" else self._written.get(group.metadata.uid, said)


def _status_path(gang: GangName) -> str:
    return f"{NativePodGroup.api.path(quote(gang.namespace, safe=''), quote(gang.name, safe=''))}/status"
