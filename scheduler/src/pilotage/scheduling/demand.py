"""Decides which pods that fit no node may trigger new ones: autoscalers look at the condition's reason."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pilotage.framework.api.demand import LimitsDemand
from pilotage.framework.api.events import Action, Event, Resource
from pilotage.framework.api.verdicts import QUEUED
from pilotage.model.pod import Pod
from pilotage.scheduling.engine import Engine
from pilotage.scheduling.outcome import UNSCHEDULABLE, Unplaced

log = logging.getLogger(__name__)

WAITING_POD_GONE = Event(Resource.UNSCHEDULED_POD, Action.DELETE)


class Demand:
    """Calls the plugins that limit demand."""

    def __init__(self, engines: Mapping[str, Engine]) -> None:
        self._engines = engines

    def judged(self, outcome: Unplaced, *pods: Pod) -> Unplaced:
        """Return the outcome of pods that wait together, with the reason for autoscalers."""
        for plugin in self._limits(pods[0]):
            if outcome.reason != UNSCHEDULABLE:
                self.gone(*pods)
                break
            try:
                held = plugin.no_node_helps(pods)
            except Exception:
                log.exception("plugin %s failed to check whether nodes would help pod %s", plugin.name, pods[0].key)
                continue
            if held:
                message = f"{outcome.message} No other node would help: {held}."
                rejected_by = outcome.rejected_by | {plugin.name}
                outcome = replace(outcome, message=message, reason=QUEUED, rejected_by=rejected_by)
        return outcome

    def gone(self, *pods: Pod) -> bool:
        """Record that pods no longer request nodes; True if any did, so that others may request them."""
        return sum(plugin.withdraw_request(pod) for plugin in self._limits(pods[0]) for pod in pods) > 0  # call all

    def _limits(self, pod: Pod) -> Sequence[LimitsDemand]:
        engine = self._engines.get(pod.scheduler_name)
        return () if engine is None else engine.limits
