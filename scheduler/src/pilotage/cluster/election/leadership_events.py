"""Events about leadership."""

import logging
import time
from collections.abc import Callable
from typing import Literal

from pilotage.cluster.transport.api_calls import Api
from pilotage.cluster.write.event_objects import NORMAL, CoreV1, Subject, encoded
from pilotage.cluster.write.event_series import RecordedEvent
from pilotage.cluster.write.write_retries import FAILURES, words_of

log = logging.getLogger(__name__)


def lease_subject(
    namespace: str, name: str, *, uid: str = "", resource_version: str = "", controller: str = "default-scheduler"
) -> Subject:
    """Return the Lease as the subject of leadership events; the controller is the first profile's name."""
    return Subject(
        NORMAL, "LeaderElection", "", controller, namespace, name, uid, resource_version,
        kind="Lease", api_version="coordination.k8s.io/v1",
    )  # fmt: skip


async def announce_leadership(
    api: Api,
    lease: Subject,
    identity: str,
    change: Literal["became leader", "stopped leading"],
    *,
    clock: Callable[[], int] = time.time_ns,
) -> bool:
    """Record on the Lease who leads or stopped leading; returns whether that succeeded, without retries."""
    now, core = clock(), CoreV1()
    event = RecordedEvent(lease, f"{identity} {change}", now, now)
    try:
        await api.post(core.path(lease.namespace), encoded(core.creation(event)))
    except FAILURES as failure:
        log.warning("the event '%s %s' was not written: %s", identity, change, words_of(failure))
        return False
    return True
