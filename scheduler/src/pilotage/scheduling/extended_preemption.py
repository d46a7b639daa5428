"""Making room for a pod that fits nowhere, where extenders have a word in who is evicted."""

import time
from collections.abc import Sequence

from pilotage.cluster.extender import Extender
from pilotage.framework.preemption.evicting import Evicting
from pilotage.framework.runner import CycleFailed
from pilotage.framework.verdicts import Nominated, NoRoom, PluginFailed, Verdicts
from pilotage.model.extender_messages import ExtenderFailed
from pilotage.model.pod import Pod
from pilotage.scheduling.attempt import Attempt
from pilotage.scheduling.diagnosis import Diagnosis
from pilotage.scheduling.extenders import trim_victims
from pilotage.scheduling.lost_room import without_lost_room
from pilotage.scheduling.outcome import Unplaced
from pilotage.scheduling.sought_room import SoughtRoom

NO_CANDIDATE = "preemption: no candidate node for preemption"


async def make_room(attempt: Attempt, diagnosis: Diagnosis, extenders: Sequence[Extender]) -> Unplaced:
    """Try to make room for a pod, and say why it fits nowhere; the extenders are interested in it."""
    asks = any(extender.preempt_verb for extender in extenders)
    if attempt.is_held or not attempt.seeking_room or not asks:
        return attempt.unplaced(diagnosis)
    runner = attempt.engine.runner
    sought = SoughtRoom(bool(runner.lineup.post_filter))
    diagnosis = without_lost_room(attempt.lost_room, attempt.cycle, sought, diagnosis)
    try:
        makers = () if attempt.room_comes(sought, diagnosis) else runner.lineup.post_filter
        for plugin in makers:
            if isinstance(plugin, Evicting):
                answer = await _preempt(plugin, attempt, diagnosis.verdicts, extenders)
            else:
                answer = runner.post_filter(plugin, attempt.cycle, diagnosis.verdicts)
            if sought.take(answer):
                break
    except CycleFailed as error:
        sought.fail(error)
    return sought.outcome(diagnosis, runner.timings, attempt.cycle.again_at)


async def _preempt(
    plugin: Evicting, attempt: Attempt, verdicts: Verdicts, extenders: Sequence[Extender]
) -> Nominated | NoRoom:
    """Do what the plugin does, and ask the extenders between its candidates and its choice."""
    pod, nodes, now = attempt.cycle.pod, attempt.cycle.nodes, time.time()

    def pods_on(node: str) -> dict[str, Pod] | None:
        info, remit = nodes.find(node), attempt.cycle.remit
        return None if info is None else {uid: each for uid, each in info.pods.items() if not remit.is_foreign(each)}

    try:
        found = plugin.candidates(attempt.cycle, pod, verdicts, now)
        if not isinstance(found, NoRoom):  # extenders know of victims only on the node that is freed
            found = [victims for victims in found if not victims.other_nodes]
        left = found if isinstance(found, NoRoom) else await trim_victims(extenders, pod, found, pods_on)
    except ExtenderFailed as error:
        raise CycleFailed(f"preemption: {error}", plugin.name) from None
    except PluginFailed as error:
        raise CycleFailed(str(error), plugin.name) from error
    if isinstance(left, NoRoom):
        return left
    return plugin.nominate(left, now) if left else NoRoom(NO_CANDIDATE, keeps_nomination=True)
