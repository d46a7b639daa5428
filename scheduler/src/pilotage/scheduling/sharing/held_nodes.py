"""Pods that wait because a node is held, and the queue event for the end of a hold."""

from pilotage.framework.api.events import Action, Event, Resource, Retry
from pilotage.framework.api.plugin import Plugin
from pilotage.framework.api.verdicts import QUEUED, Rejection
from pilotage.model.metadata import Metadata
from pilotage.model.pod import Pod, PodObject
from pilotage.model.pod_spec import PodSpec
from pilotage.scheduling.diagnosis import Diagnosis
from pilotage.scheduling.outcome import Unplaced

GUARD = "RaceGuard"  # in place of a plugin's name in the queue
HELD = Rejection("node(s) rejected pods recently and are avoided for a while", preemption_helps=False, plugin=GUARD)


def held_back(diagnosis: Diagnosis) -> Unplaced:
    """Return the outcome for a pod that only has to wait: it keeps its nomination and triggers no autoscaler."""
    plugins, pending = diagnosis.rejected_by(), diagnosis.pending()
    return Unplaced(diagnosis.message(""), QUEUED, plugins, pending, nominate=None, counted=diagnosis.counted)


class HoldEnd(Pod):
    """The event object of a node that is no longer held; for waiting pods it looks like a pod that left it."""


def hold_end(node: str) -> HoldEnd:
    """Return the event object for a node that is no longer held."""
    identity = Metadata(name=f"hold-on-{node}", uid=f"hold-on-{node}")
    return HoldEnd(PodObject(identity, PodSpec(node_name=node)))


class HeldNodes(Plugin):
    """The queueing hint of the race guard, for pods that found nodes held."""

    retry_on = (Retry(Resource.ASSIGNED_POD, Action.DELETE, "is_hold_end"),)

    def is_hold_end(self, pod: Pod, event: Event, old: Pod, new: Pod | None) -> bool:
        """Return whether the event means that a node is no longer held."""
        return isinstance(old, HoldEnd)


HeldNodes.name = GUARD
