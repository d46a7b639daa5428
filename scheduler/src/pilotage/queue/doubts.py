"""Whom events did not help while places were held that may be given back: the answers may have been wrong."""

from pilotage.queue.queued_pod import QueuedPod


class Doubts:
    """Notes pods between a beginning and an end; at any other time none."""

    def __init__(self) -> None:
        self._noted: dict[str, QueuedPod] | None = None

    def begin(self) -> None:
        """Note from now on whom events do not help."""
        self._noted = {}

    def note(self, queued: QueuedPod) -> None:
        """Record a pod that an event did not help."""
        if self._noted is not None:
            self._noted[queued.key] = queued

    def end(self) -> list[QueuedPod]:
        """Note nobody any more, and return those who were."""
        noted, self._noted = self._noted or {}, None
        return list(noted.values())
