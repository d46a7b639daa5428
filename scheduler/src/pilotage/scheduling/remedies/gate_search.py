"""What would happen to a gated pod once its gate is open: where it fits, or what else it takes."""

from collections.abc import Generator
from dataclasses import dataclass, replace

from pilotage.framework.api.remedies import Remedy
from pilotage.framework.api.verdicts import PluginFailed, Rejection, Verdicts
from pilotage.queue.queued_pod import QueuedPod
from pilotage.scheduling.diagnosis import Diagnosis
from pilotage.scheduling.remedies.offers import agreement, offers
from pilotage.scheduling.remedies.search import searched, together
from pilotage.scheduling.remedies.trying import Tries

Found = tuple[tuple[Remedy, ...], str]  # remedies, and what else there is to say


@dataclass(frozen=True)
class Gate:
    """The plugin that keeps a pod out of the queue, and why."""

    plugin: str
    reason: str
    opens_by_itself: bool = False


def gate_of(queued: QueuedPod) -> Gate | None:
    """Return what keeps a pod out of the queue; None if nothing does."""
    if queued.gating_plugin is None:
        return None
    return Gate(queued.gating_plugin, queued.gating_reason, queued.gate_reports_opening)


def searched_behind(tries: Tries, gate: Gate) -> Generator[None, None, Found]:
    """Find the remedies for a gated pod; if it would not fit without the gate, also what else it takes."""
    if gate.opens_by_itself:
        return (), f"nothing to change: {gate.reason}"
    yield
    opening = _opening(tries, gate)
    try:
        tried, still = tries.tried(opening), ""
        if tried is None:
            tries.pod = opening.difference.pod or tries.pod
            still = f"without the gate the pod would wait: {_message(tries)}"
    except PluginFailed as error:
        return (), str(error)
    if tried is not None:
        return (tried,), ""
    found = yield from searched(tries)
    return tuple(_after(opening, each) for each in found), still


def _opening(tries: Tries, gate: Gate) -> Remedy:
    """Return what opens the gate: the plugin's own remedy, or the general one."""
    plugin = tries.engine.runner.plugin_set.plugins().get(gate.plugin)
    cycle = tries.attempt().cycle
    own = offers(plugin, cycle, cycle.nodes) if plugin is not None else []
    return own[0] if own else agreement(gate.plugin, Rejection(gate.reason))


def _after(opening: Remedy, other: Remedy) -> Remedy:
    both = together(opening, other)
    return replace(both, untried=other.untried, verified=other.verified, nodes=other.nodes, example=other.example)


def _message(tries: Tries) -> str:
    """Return the message that the pod would get."""
    attempt = tries.attempt()
    before = attempt.run_pre_filter()
    if before.rejection is not None:
        return before.rejection.message
    attempt.feasible()
    assert attempt.entry is not None
    return Diagnosis(Verdicts(attempt.codes, attempt.entry.rejections), before).message("")
