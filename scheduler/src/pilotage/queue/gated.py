"""The gates that a pod has to pass before it may be tried."""

import logging
from collections.abc import Callable, Sequence

from pilotage.framework.api.plugin import PreEnqueue
from pilotage.framework.api.verdicts import Rejection
from pilotage.model.pod import Pod
from pilotage.queue.queued_pod import QueuedPod

log = logging.getLogger(__name__)

GatesOf = Callable[[Pod], Sequence[PreEnqueue]]


class Gates:
    """Asks the plugins of a pod's profile whether it may come in."""

    def __init__(self, gates_of: GatesOf) -> None:
        self._gates_of = gates_of
        self._complaints: set[str] = set()

    def keep_out(self, queued: QueuedPod) -> bool:
        """Return whether a plugin keeps the pod out, and note which and why on the pod."""
        for plugin in self._in_turn(queued):
            try:
                answer: object = plugin.pre_enqueue(queued.pod)
            except Exception as error:
                self._complain(plugin.name, queued.key)
                answer = Rejection(str(error) or repr(error))
            if answer is not None:
                _shut(queued, plugin, answer)
                return True
        queued.gating_plugin, queued.gating_reason = None, ""
        return False

    def is_shut(self, queued: QueuedPod) -> bool:
        """Return whether the plugin that keeps the pod out still does; nothing is noted on the pod."""
        plugin = next((each for each in self._gates_of(queued.pod) if each.name == queued.gating_plugin), None)
        try:
            return plugin is not None and isinstance(plugin.pre_enqueue(queued.pod), Rejection)
        except Exception:  # whoever lets the pod in will meet it again, and tell
            return False

    def _complain(self, plugin: str, key: str) -> None:
        # In full the first time; it may fail for every pod that waits, and each of them knows the reason.
        new = plugin not in self._complaints
        self._complaints.add(plugin)
        level = logging.ERROR if new else logging.DEBUG
        log.log(level, "plugin %s failed at PreEnqueue of pod %s", plugin, key, exc_info=new)

    def _in_turn(self, queued: QueuedPod) -> Sequence[PreEnqueue]:
        gates, last = self._gates_of(queued.pod), queued.gating_plugin
        if last is None:
            return gates
        # Who said no the last time is the likeliest to say it again.
        return sorted(gates, key=lambda plugin: plugin.name != last)


def _shut(queued: QueuedPod, plugin: PreEnqueue, answer: object) -> None:
    queued.unschedulable_plugins.add(plugin.name)
    queued.gating_plugin, queued.gate_will_tell = plugin.name, plugin.tells_when_open
    queued.gating_reason = answer.message if isinstance(answer, Rejection) else f"unexpected answer {answer!r}"
