"""Pods that events skipped while a gang held tentative reservations: the hints may have been wrong."""

from pilotage.queue.queued_pod import QueuedPod


class TentativeSkips:
    """Records pods between `begin` and `end`, and none at other times."""

    def __init__(self) -> None:
        self._noted: dict[str, QueuedPod] | None = None

    def begin(self) -> None:
        """Start recording pods that events do not help."""
        self._noted = {}

    def note(self, queued: QueuedPod) -> None:
        """Record a pod that an event did not help."""
        if self._noted is not None:
            self._noted[queued.key] = queued

    def end(self) -> list[QueuedPod]:
        """Stop recording, and return the recorded pods."""
        noted, self._noted = self._noted or {}, None
        return list(noted.values())
