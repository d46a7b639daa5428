"""The PreEnqueue gates of pods."""

import logging
from collections.abc import Callable, Sequence

from pilotage.framework.api.plugin import PreEnqueue
from pilotage.framework.api.verdicts import Rejection
from pilotage.model.pod import Pod
from pilotage.queue.queued_pod import QueuedPod

log = logging.getLogger(__name__)

GatesOf = Callable[[Pod], Sequence[PreEnqueue]]


class Gates:
    """Runs PreEnqueue of the plugins of a pod's profile."""

    def __init__(self, gates_of: GatesOf) -> None:
        self._gates_of = gates_of
        self._logged: set[str] = set()

    def keep_out(self, queued: QueuedPod) -> bool:
        """Return whether a plugin gates the pod, and record which and why on the pod."""
        for plugin in self._in_turn(queued):
            try:
                answer: object = plugin.pre_enqueue(queued.pod)
            except Exception as error:
                self._log_failure(plugin.name, queued.key)
                answer = Rejection(str(error) or repr(error))
            if answer is not None:
                _shut(queued, plugin, answer)
                return True
        queued.gating_plugin, queued.gating_reason = None, ""
        return False

    def is_shut(self, queued: QueuedPod) -> bool:
        """Return whether the plugin that gates the pod still does, without changing the pod."""
        plugin = next((each for each in self._gates_of(queued.pod) if each.name == queued.gating_plugin), None)
        try:
            return plugin is not None and isinstance(plugin.pre_enqueue(queued.pod), Rejection)
        except Exception:  # `keep_out` will raise it again, and report it
            return False

    def _log_failure(self, plugin: str, key: str) -> None:
        # With a traceback the first time only: it may fail for every waiting pod, and each of them has the reason.
        new = plugin not in self._logged
        self._logged.add(plugin)
        level = logging.ERROR if new else logging.DEBUG
        log.log(level, "plugin %s failed at PreEnqueue of pod %s", plugin, key, exc_info=new)

    def _in_turn(self, queued: QueuedPod) -> Sequence[PreEnqueue]:
        gates, last = self._gates_of(queued.pod), queued.gating_plugin
        if last is None:
            return gates
        # The plugin that gated the pod last time is the likeliest to do so again.
        return sorted(gates, key=lambda plugin: plugin.name != last)


def _shut(queued: QueuedPod, plugin: PreEnqueue, answer: object) -> None:
    queued.unschedulable_plugins.add(plugin.name)
    queued.gating_plugin, queued.gate_reports_opening = plugin.name, plugin.reports_opening
    queued.gating_reason = answer.message if isinstance(answer, Rejection) else f"unexpected answer {answer!r}"
