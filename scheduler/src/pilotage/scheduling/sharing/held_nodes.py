"""Pods that wait because a node is left alone for a while, and how the queue hears that it is not any more."""

from pilotage.framework.api.events import Action, Event, Resource, Retry
from pilotage.framework.api.plugin import Plugin
from pilotage.framework.api.verdicts import QUEUED, Rejection
from pilotage.model.metadata import Metadata
from pilotage.model.pod import Pod, PodObject
from pilotage.model.pod_spec import PodSpec
from pilotage.scheduling.diagnosis import Diagnosis
from pilotage.scheduling.outcome import Unplaced

GUARD = "RaceGuard"  # the plugin that stands for the race guard in the queue
HELD = Rejection("node(s) rejected pods lately and are left alone for a while", preemption_helps=False, plugin=GUARD)


def held_back(diagnosis: Diagnosis) -> Unplaced:
    """Return the outcome for a pod that has only to wait; what was nominated for it stands, and no node is bought."""
    plugins, pending = diagnosis.rejected_by(), diagnosis.pending()
    return Unplaced(diagnosis.message(""), QUEUED, plugins, pending, nominate=None, counted=diagnosis.counted)


class HoldEnd(Pod):
    """Stands for what a node has to offer again: to waiting pods that is as if a pod had left it."""


def hold_end(node: str) -> HoldEnd:
    """Return what leaves a node when it is no longer left alone."""
    identity = Metadata(name=f"hold-on-{node}", uid=f"hold-on-{node}")
    return HoldEnd(PodObject(identity, PodSpec(node_name=node)))


class HeldNodes(Plugin):
    """Stands for the race guard in the queue: knows what helps a pod that found nodes held."""

    retry_on = (Retry(Resource.ASSIGNED_POD, Action.DELETE, "is_hold_end"),)

    def is_hold_end(self, pod: Pod, event: Event, old: Pod, new: Pod | None) -> bool:
        """Tell whether a node is no longer left alone."""
        return isinstance(old, HoldEnd)


HeldNodes.name = GUARD
