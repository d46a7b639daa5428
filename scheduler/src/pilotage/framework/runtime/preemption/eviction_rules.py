"""Calls the plugins that restrict evictions, each behind a fence."""

import logging
from collections.abc import Iterable, Sequence

from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.plugin import EvictionRule
from pilotage.framework.api.verdicts import Nominated, NoRoom, Rejection, Verdicts
from pilotage.framework.runtime.fence import fence
from pilotage.model.pod import Pod

log = logging.getLogger(__name__)

FAILED = 'running the eviction rule of plugin "{}": {}'


def enough_leave(rules: Iterable[EvictionRule], cycle: Cycle, verdicts: Verdicts) -> Nominated | NoRoom | None:
    """Return the first plugin's reason why no other pod has to be evicted for the pod of the cycle."""
    for plugin in rules:
        with fence(FAILED, plugin):
            coming = plugin.enough_leave(cycle, cycle.pod, verdicts)
        if coming is not None:
            return coming
    return None


def may_evict(rules: Iterable[EvictionRule], cycle: Cycle, victim: Pod) -> bool:
    """Return whether every plugin allows the eviction of a pod for the pod of the cycle."""
    for plugin in rules:
        with fence(FAILED, plugin):
            if not plugin.may_evict(cycle, cycle.pod, victim):
                return False
    return True


def objection(rules: Iterable[EvictionRule], cycle: Cycle) -> Rejection | None:
    """Return the first plugin's objection to evictions, given the current notes."""
    for plugin in rules:
        with fence(FAILED, plugin):
            rejection = plugin.objection(cycle, cycle.pod)
        if rejection is not None:
            return rejection.by(plugin.name)
    return None


def evictions_began(rules: Iterable[EvictionRule], preemptor: Pod, victims: Sequence[Pod]) -> None:
    """Notify every plugin of pods that are being evicted; a failure of one does not affect the others."""
    for plugin in rules:
        try:
            plugin.evictions_began(preemptor, victims)
        except Exception:
            log.exception("plugin %s failed to record evictions for pod %s", plugin.name, preemptor.key)


def evictions_cancelled(rules: Iterable[EvictionRule], victims: Sequence[Pod]) -> None:
    """Notify every plugin of pods that are not evicted after all."""
    for plugin in rules:
        try:
            plugin.evictions_cancelled(victims)
        except Exception:
            log.exception("plugin %s failed to record cancelled evictions", plugin.name)
