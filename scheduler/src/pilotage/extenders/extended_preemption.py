"""Preemption for a pod that extenders are interested in."""

import time
from collections.abc import Sequence

from pilotage.cluster.services.extender import Extender
from pilotage.extenders.extenders import trim_victims
from pilotage.framework.api.verdicts import Nominated, NoRoom, PluginFailed, Verdicts
from pilotage.framework.runtime.fence import CycleFailed
from pilotage.framework.runtime.preemption.evicting import Evicting
from pilotage.model.extender_messages import ExtenderFailed
from pilotage.model.pod import Pod
from pilotage.scheduling.attempt import Attempt
from pilotage.scheduling.diagnosis import Diagnosis
from pilotage.scheduling.outcome import Unplaced
from pilotage.scheduling.post_filter import PostFilterResult
from pilotage.scheduling.sharing.lost_nominations import without_lost_nominations

NO_CANDIDATE = "preemption: no candidate node for preemption"


async def post_filter(attempt: Attempt, diagnosis: Diagnosis, extenders: Sequence[Extender]) -> Unplaced:
    """Preempt for a pod that extenders are interested in; returns why it fits no node."""
    asks = any(extender.preempt_verb for extender in extenders)
    if attempt.is_held or not attempt.preempts or not asks:
        return attempt.unplaced(diagnosis)
    runner = attempt.engine.runner
    post_filter = PostFilterResult(bool(runner.plugin_set.post_filter))
    diagnosis = without_lost_nominations(attempt.lost_nominations, attempt.cycle, post_filter, diagnosis)
    try:
        makers = () if attempt.is_freed_anyway(post_filter, diagnosis) else runner.plugin_set.post_filter
        for plugin in makers:
            if isinstance(plugin, Evicting):
                answer = await _preempt(plugin, attempt, diagnosis.verdicts, extenders)
            else:
                answer = runner.post_filter(plugin, attempt.cycle, diagnosis.verdicts)
            if post_filter.take(answer):
                break
    except CycleFailed as error:
        post_filter.fail(error)
    return post_filter.outcome(diagnosis, runner.timings, attempt.cycle.again_at)


async def _preempt(
    plugin: Evicting, attempt: Attempt, verdicts: Verdicts, extenders: Sequence[Extender]
) -> Nominated | NoRoom:
    """Run the plugin's preemption, and call the extenders between its candidates and its choice."""
    pod, nodes, now = attempt.cycle.pod, attempt.cycle.nodes, time.time()

    def pods_on(node: str) -> dict[str, Pod] | None:
        info, remit = nodes.find(node), attempt.cycle.remit
        return None if info is None else {uid: each for uid, each in info.pods.items() if not remit.is_foreign(each)}

    try:
        found = plugin.candidates(attempt.cycle, pod, verdicts, now)
        if not isinstance(found, NoRoom):  # extenders see victims only on the nominated node
            found = [victims for victims in found if not victims.other_nodes]
        left = found if isinstance(found, NoRoom) else await trim_victims(extenders, pod, found, pods_on)
    except ExtenderFailed as error:
        raise CycleFailed(f"preemption: {error}", plugin.name) from None
    except PluginFailed as error:
        raise CycleFailed(str(error), plugin.name) from error
    if isinstance(left, NoRoom):
        return left
    return plugin.nominate(left, now) if left else NoRoom(NO_CANDIDATE, keeps_nomination=True)
